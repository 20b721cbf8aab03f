package gate_test

import (
	"reflect"
	"time"
	"unsafe"

	"collect/pacing/gate"
)

// twin returns a gate that is as g and shares nothing with it, to ask what
// would have been.
func twin(g *gate.Gate) *gate.Gate {
	to := reflect.New(reflect.TypeFor[*gate.Gate]()).Elem()
	duplicate(to, reflect.ValueOf(&g).Elem())
	return to.Interface().(*gate.Gate)
}

// duplicate makes to what from is, and all that it points to. Functions and
// times are values.
func duplicate(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			duplicate(to.Elem(), from.Elem())
		}
	case reflect.Interface:
		if !from.IsNil() {
			inside := reflect.New(from.Elem().Type()).Elem()
			duplicate(inside, within(from).Elem())
			to.Set(inside)
		}
	case reflect.Slice:
		if !from.IsNil() {
			to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
			for i := range from.Len() {
				duplicate(to.Index(i), from.Index(i))
			}
		}
	case reflect.Map:
		if !from.IsNil() {
			to.Set(reflect.MakeMap(from.Type()))
			for k, v := range within(from).Seq2() {
				to.SetMapIndex(k, v) // of values that point nowhere
			}
		}
	case reflect.Struct:
		if from.Type() == reflect.TypeFor[time.Time]() {
			to.Set(within(from))
			return
		}
		for i := range from.NumField() {
			duplicate(within(to.Field(i)), within(from.Field(i)))
		}
	default:
		to.Set(within(from))
	}
}

// within returns v so that it may be read and set although its name is not
// exported.
func within(v reflect.Value) reflect.Value {
	if !v.CanAddr() {
		return v
	}
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}
