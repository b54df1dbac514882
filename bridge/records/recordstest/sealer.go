package recordstest

import (
	"bytes"
	"errors"
)

// Sealer seals by writing where a value belongs, and mixing its bytes.
type Sealer struct{}

// Seal returns the value as it is kept under a key of a bucket.
func (Sealer) Seal(bucket, key string, value []byte) []byte {
	sealed := []byte(bucket + "/" + key + "/")
	for _, b := range value {
		sealed = append(sealed, b^0x55)
	}
	return sealed
}

// Open returns what Seal sealed for the same place.
func (s Sealer) Open(bucket, key string, sealed []byte) ([]byte, error) {
	mixed, ok := bytes.CutPrefix(sealed, []byte(bucket+"/"+key+"/"))
	if !ok {
		return nil, errors.New("it was sealed for another place")
	}
	return s.Seal("", "", mixed)[2:], nil
}
