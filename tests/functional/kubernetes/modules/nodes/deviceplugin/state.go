// Copyright 2026 the authors of this repository
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The beginning of `struct state` in fake.h of the simulated library: numbers of 32 bits and texts.
type (
	part struct {
		Used, ID, Query, Slices, Start, Slot uint32
		UUID                                 [48]byte
	}
	instance struct {
		Used, ID, Profile, Start, Size uint32
		Part                           [8]part
	}
	process struct {
		PID    uint32
		Device [48]byte
	}
	gpu struct {
		Board, Current, Pending, Lost, Held, Created, Resets uint32
		UUID                                                 [48]byte
		Serial                                               [16]byte
		Instance                                             [8]instance
		Process                                              [16]process
	}
	state struct {
		Magic, GPUs, CUDA, Hidden, Virtual uint32
		Loaded, Library                    [32]byte
		GPU                                [8]gpu
	}
)

const magic = 0x4d494731

// device is one thing that a container can be given.
type device struct {
	id  string
	gpu int
}

func readState(folder string) (state, error) {
	var found state
	data, err := os.ReadFile(filepath.Join(folder, "gpus.state"))
	if err != nil {
		return found, err
	}
	if err := binary.Read(bytes.NewReader(data), binary.LittleEndian, &found); err != nil {
		return found, err
	}
	if found.Magic != magic || text(found.Loaded[:]) == "" || text(found.Loaded[:]) != text(found.Library[:]) {
		return found, fmt.Errorf("no NVIDIA driver that its library fits")
	}
	return found, nil
}

// readOffers returns the devices of each resource. The names of profiles by board and id are beside
// the state, which has numbers only.
func readOffers(folder, strategy string) (map[string][]device, error) {
	found, err := readState(folder)
	if err != nil {
		return nil, err
	}
	var names map[string]map[string]string
	data, err := os.ReadFile(filepath.Join(folder, "profiles.json"))
	if err == nil {
		err = json.Unmarshal(data, &names)
	}
	if err != nil {
		return nil, err
	}
	offers := map[string][]device{}
	for index, each := range found.GPU[:found.GPUs] {
		if each.Lost != 0 {
			continue
		}
		if strategy != "mixed" || each.Current == 0 {
			offers["nvidia.com/gpu"] = append(offers["nvidia.com/gpu"], device{text(each.UUID[:]), index})
			continue
		}
		profiles := names[strconv.Itoa(int(each.Board))]
		for _, cut := range each.Instance {
			for _, part := range cut.Part {
				if cut.Used != 0 && part.Used != 0 {
					name := strings.ReplaceAll(profiles[strconv.Itoa(int(cut.Profile))], "+", ".")
					resource := "nvidia.com/mig-" + name
					offers[resource] = append(offers[resource], device{text(part.UUID[:]), index})
				}
			}
		}
	}
	return offers, nil
}

func lostGPUs(folder string) map[int]bool {
	lost := map[int]bool{}
	found, err := readState(folder)
	for index := range found.GPU[:found.GPUs%9] {
		lost[index] = err != nil || found.GPU[index].Lost != 0
	}
	return lost
}

func text(field []byte) string {
	before, _, _ := bytes.Cut(field, []byte{0})
	return string(before)
}
