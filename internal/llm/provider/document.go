package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/tidwall/gjson"
)

// What is in an event's data is read field by field, and kindly: a gateway that puts a number into quotes, or an object where
// a text should be, loses that field at most, and not its answer. This is how both vendors' SDKs read, which also stand on
// gjson, without the objects that they make for each field of each chunk.

var errGarbage = errors.New("provider: an event is no JSON object")

// Document reads the data of an event. All its strings share one copy of it.
func Document(data []byte) (gjson.Result, error) {
	if !valid(data) {
		return gjson.Result{}, errGarbage
	}
	read := gjson.ParseBytes(data)
	if !read.IsObject() && read.Type != gjson.Null {
		return gjson.Result{}, errGarbage
	}
	return read, nil
}

// deepest is how many brackets gjson may be given to check: this many may be within each other.
const deepest = 1000

// valid tells whether data is JSON. gjson checks that several times as fast as encoding/json, but goes one call deeper for
// each bracket: an event of nothing else would be the end of the stack, and with it of the server. encoding/json gives up in
// time.
func valid(data []byte) bool {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > deepest {
		return json.Valid(data)
	}
	return gjson.ValidBytes(data)
}

// Field is a field of an object, or null. What is no object has none.
func Field(object gjson.Result, name string) gjson.Result {
	if !object.IsObject() {
		return gjson.Result{}
	}
	return object.Get(name)
}

// Elements hands each element of a list to take, as long as that has no error. What is no list has none.
func Elements(list gjson.Result, take func(element gjson.Result) error) (err error) {
	if !list.IsArray() {
		return nil
	}
	list.ForEach(func(_, element gjson.Result) bool {
		err = take(element)
		return err == nil
	})
	return err
}

// Integer reads a number, also one in quotes; nil is none.
func Integer(value gjson.Result) *int64 {
	switch value.Type {
	case gjson.Null, gjson.JSON:
		return nil
	case gjson.String:
		if _, err := strconv.ParseFloat(value.Str, 64); err != nil {
			return nil
		}
	}
	number := value.Int()
	return &number
}
