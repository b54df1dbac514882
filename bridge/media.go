package bridge

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
)

// withMedia returns a result in the words of MCP whose pictures and sounds are as MCP has them:
// base64 and a media type. Pages give data: URLs, other alphabets, and no type. What is no picture
// stays as it is.
func withMedia(data json.RawMessage) json.RawMessage {
	if !bytes.Contains(data, []byte(`"image"`)) && !bytes.Contains(data, []byte(`"audio"`)) {
		return data
	}
	all, err := ReadValue("the result", data)
	if err != nil || !all.Get("content").IsArray() {
		return data
	}
	var blocks []json.RawMessage
	mended := false
	for b := range all.Get("content").Elements() {
		block := b.Text()
		if kind := b.Get("type").String(); kind == "image" || kind == "audio" {
			if media := mendMedium(b); media != nil {
				block, mended = media, true
			}
		}
		blocks = append(blocks, block)
	}
	if !mended {
		return data
	}
	content := schema.Member{Name: "content", Value: schema.MustEncode(blocks)}
	out, err := all.Edit(func(name string) bool { return name == "content" }, content)
	if err != nil {
		return data
	}
	return out.Text()
}

// mendMedium returns a block of a picture or a sound as MCP has it, or nil where there is nothing
// to mend.
func mendMedium(b Value) json.RawMessage {
	given, declared := b.Get("data").String(), b.Get("mimeType").String()
	given = cmp.Or(given, b.Get("url").String())
	raw, kind, ok := decodeMedium(given)
	kind = cmp.Or(kind, declared, sniffed(raw))
	if !ok || len(raw) == 0 || kind == "" {
		return nil
	}
	written := base64.StdEncoding.EncodeToString(raw)
	if written == b.Get("data").String() && kind == declared {
		return nil
	}
	out, err := b.Edit(func(name string) bool { return name == "data" || name == "url" || name == "mimeType" },
		schema.Member{Name: "data", Value: schema.MustEncode(written)}, schema.Member{Name: "mimeType", Value: schema.MustEncode(kind)})
	if err != nil {
		return nil
	}
	return out.Text()
}

// decodeMedium reads base64 in any alphabet, or a data: URL (RFC 2397), which has a media type.
func decodeMedium(text string) (raw []byte, kind string, ok bool) {
	const scheme = "data:"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		raw, err := base64.RawStdEncoding.DecodeString(plainBase64.Replace(text))
		return raw, "", err == nil
	}
	head, body, ok := strings.Cut(text[len(scheme):], ",")
	if !ok {
		return nil, "", false
	}
	kind, _, _ = strings.Cut(head, ";")
	if strings.Contains(body, "%") {
		plain, err := url.PathUnescape(body)
		if err != nil {
			return nil, "", false
		}
		body = plain
	}
	if !strings.HasSuffix(strings.ToLower(head), ";base64") {
		return []byte(body), kind, true
	}
	raw, err := base64.RawStdEncoding.DecodeString(plainBase64.Replace(body))
	return raw, kind, err == nil
}

// plainBase64 makes the alphabet for URLs the usual one, without padding and line ends.
var plainBase64 = strings.NewReplacer("-", "+", "_", "/", "=", "", "\r", "", "\n", "")

// sniffed knows pictures and sounds by how they begin, as the standard on MIME sniffing has it; ""
// is none.
func sniffed(raw []byte) string {
	for _, m := range []struct{ begins, at8, kind string }{
		{"\x89PNG\r\n\x1a\n", "", "image/png"}, {"\xff\xd8\xff", "", "image/jpeg"}, {"GIF87a", "", "image/gif"}, {"GIF89a", "", "image/gif"},
		{"RIFF", "WEBP", "image/webp"}, {"RIFF", "WAVE", "audio/wav"}, {"BM", "", "image/bmp"}, {"<svg", "", "image/svg+xml"},
		{"ID3", "", "audio/mpeg"}, {"OggS", "", "audio/ogg"},
	} {
		if bytes.HasPrefix(raw, []byte(m.begins)) && (m.at8 == "" || len(raw) > 12 && string(raw[8:12]) == m.at8) {
			return m.kind
		}
	}
	return ""
}
