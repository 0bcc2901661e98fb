//go:build linux

package faults

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"
	"unsafe"
)

// skew steps the wall clock of this process alone. Go reads its clocks from a page that the kernel
// maps into each process, the vDSO, so a preloaded library has no effect. skew replaces the
// function there by a system call and an addition. The code lies where gettimeofday was, which Go
// does not use, behind the two numbers that are added.
type skew struct {
	mem *os.File
	at  int64 // of the numbers: seconds and nanoseconds
}

const second = int64(time.Second)

var skewed = []byte{
	0xb8, 0xe4, 0, 0, 0, //          mov eax, 228         clock_gettime(2)
	0x0f, 0x05, //                   syscall
	0x85, 0xc0, 0x75, 0x36, //       test eax, eax; jne end
	0x83, 0xff, 0, 0x74, 0x05, //    cmp edi, 0; je add   CLOCK_REALTIME
	0x83, 0xff, 5, 0x75, 0x2c, //    cmp edi, 5; jne end  its coarse sister; the monotonic ones stay as they are
	0x48, 0x8b, 0x15, 0xd4, 0xff, 0xff, 0xff, // add: mov rdx, [seconds]
	0x48, 0x01, 0x16, //             add [rsi], rdx
	0x48, 0x8b, 0x15, 0xd2, 0xff, 0xff, 0xff, // mov rdx, [nanoseconds]
	0x48, 0x03, 0x56, 0x08, //       add rdx, [rsi+8]
	0x48, 0x81, 0xfa, 0, 0xca, 0x9a, 0x3b, 0x7c, 0x0a, // cmp rdx, 1e9; jl store
	0x48, 0x81, 0xea, 0, 0xca, 0x9a, 0x3b, // sub rdx, 1e9
	0x48, 0xff, 0x06, //             inc qword [rsi]
	0x48, 0x89, 0x56, 0x08, //       store: mov [rsi+8], rdx
	0xc3, //                         end: ret
}

// newSkew replaces the function. It is called before the process does anything else.
func newSkew() (*skew, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	var from, to uintptr
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[vdso]") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				return nil, err
			}
		}
	}
	if from == 0 {
		return nil, errors.New("this process has no vDSO")
	}
	// The page stays where it is for as long as the process lives.
	image := bytes.Clone(unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&from))), to-from))
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	read, unused := int64(0), int64(0)
	for _, s := range symbols {
		switch {
		case s.Name == "__vdso_clock_gettime":
			read = int64(s.Value)
		case s.Name == "__vdso_gettimeofday" && s.Size >= 128:
			unused = int64(s.Value+15) &^ 15
		}
	}
	if read == 0 || unused == 0 {
		return nil, errors.New("the vDSO has other functions")
	}
	s := &skew{at: int64(from) + unused}
	if s.mem, err = os.OpenFile("/proc/self/mem", os.O_RDWR, 0); err != nil {
		return nil, err
	}
	jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(int32(unused+16-(read+5))))
	for at, code := range map[int64][]byte{unused: make([]byte, 16), unused + 16: skewed} {
		if _, err := s.mem.WriteAt(code, int64(from)+at); err != nil {
			return nil, err
		}
	}
	if _, err := s.mem.WriteAt(jump, int64(from)+read); err != nil {
		return nil, err
	}
	const probe = time.Hour
	before := time.Now()
	if err := s.set(probe); err != nil {
		return nil, err
	}
	after := time.Now()
	if d := after.Round(0).Sub(before.Round(0)); d < probe || d > probe+time.Minute || after.Sub(before) > time.Minute {
		return nil, fmt.Errorf("a step of %v moved the wall clock by %v and the monotonic one by %v", probe, d, after.Sub(before))
	}
	return s, s.set(0)
}

// set sets by how much the wall clock is off.
func (s *skew) set(d time.Duration) error {
	seconds := int64(math.Floor(d.Seconds()))
	text := binary.LittleEndian.AppendUint64(nil, uint64(seconds))
	text = binary.LittleEndian.AppendUint64(text, uint64(int64(d)-seconds*second))
	_, err := s.mem.WriteAt(text, s.at)
	return err
}
