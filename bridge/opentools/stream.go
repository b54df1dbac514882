package opentools

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"strings"
)

// readStream calls add with each item of a stream: the data of events (HTML, 9.2.6), lines (JSON
// Lines), records (RFC 7464) or parts (RFC 2046, 5.1.3). No item has more than most bytes.
func readStream(r io.Reader, media string, params map[string]string, most int, add func(item []byte) error) error {
	switch media {
	case "multipart/mixed":
		return readParts(r, params["boundary"], most, add)
	case "text/event-stream":
		return readEvents(r, most, add)
	}
	s := bufio.NewScanner(r)
	s.Buffer(nil, most)
	if media == "application/json-seq" {
		s.Split(splitRecords)
	}
	for s.Scan() {
		if item := bytes.TrimSpace(s.Bytes()); len(item) > 0 {
			if err := add(item); err != nil {
				return err
			}
		}
	}
	return tooLong(s.Err())
}

func tooLong(err error) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return errFull
	}
	return err
}

// splitRecords splits at the record separator, with which each record begins.
func splitRecords(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0x1E); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// readEvents reads the data of events. Comments and other fields count for nothing.
func readEvents(r io.Reader, most int, add func(item []byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, most)
	var data []string
	size := 0
	for s.Scan() {
		line := strings.TrimSuffix(s.Text(), "\r")
		if line == "" && data != nil {
			if err := add([]byte(strings.Join(data, "\n"))); err != nil {
				return err
			}
			data, size = nil, 0
		}
		if field, value, _ := strings.Cut(line, ":"); field == "data" {
			value = strings.TrimPrefix(value, " ")
			if size += len(value) + 1; size > most {
				return errFull
			}
			data = append(data, value)
		}
	}
	return tooLong(s.Err())
}

func readParts(r io.Reader, boundary string, most int, add func(item []byte) error) error {
	if boundary == "" {
		return errors.New("the parts have no boundary")
	}
	parts := multipart.NewReader(r, boundary)
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.LimitReader(part, int64(most)+1))
		if err != nil {
			return err
		}
		if len(text) > most {
			return errFull
		}
		if err := add(bytes.TrimSpace(text)); err != nil {
			return err
		}
	}
}
