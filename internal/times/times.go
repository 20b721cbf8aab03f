// Package times moves the times inside a value from one clock to another, and tells
// whether two that were moved are the same.
package times

import (
	"reflect"
	"time"
)

// Moved returns a copy of v, a pointer or a struct, in which move was applied to
// each time that is not zero. It follows pointers, slices, arrays and maps, and
// looks into no unexported field and no interface. The copy shares nothing with v that
// can hold a time.
func Moved[T any](v T, move func(time.Time) time.Time) T {
	copied := reflect.ValueOf(&v).Elem()
	if copied.Kind() == reflect.Interface {
		held := reflect.New(copied.Elem().Type()).Elem()
		held.Set(copied.Elem())
		walk(held, move)
		copied.Set(held)
		return v
	}
	walk(copied, move)
	return v
}

// Same reports whether two times that name an event are of one. A time that went from
// machine to machine is off by as long as it took to ask for the other clock, each time.
// Two orders within a second are told from each other by what they say.
func Same(a, b time.Time) bool { return a.Sub(b).Abs() < time.Second }

var moment = reflect.TypeFor[time.Time]()

// walk moves the times in v, which may be set, and copies what v points to.
func walk(v reflect.Value, move func(time.Time) time.Time) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == moment {
			if t, ok := reflect.TypeAssert[time.Time](v); ok && v.CanSet() && !t.IsZero() {
				v.Set(reflect.ValueOf(move(t)))
			}
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				walk(v.Field(i), move)
			}
		}
	case reflect.Pointer:
		if v.IsNil() || !v.CanSet() {
			return
		}
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(v.Elem())
		walk(to.Elem(), move)
		v.Set(to)
	case reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), move)
		}
	case reflect.Slice:
		if v.IsNil() || !v.CanSet() || v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(to, v)
		for i := range to.Len() {
			walk(to.Index(i), move)
		}
		v.Set(to)
	case reflect.Map:
		if v.IsNil() || !v.CanSet() {
			return
		}
		to := reflect.MakeMapWithSize(v.Type(), v.Len())
		for key, value := range v.Seq2() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(value)
			walk(e, move)
			to.SetMapIndex(key, e)
		}
		v.Set(to)
	}
}
