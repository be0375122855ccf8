// Copyright 2026 the authors of this repository
// SPDX-License-Identifier: Apache-2.0

// Command deviceplugin stands in for NVIDIA's device plugin 0.20 on a real kubelet. What it offers are
// the devices of the simulated NVML library, whose state file the runtime gives to its container.
//
// Like the original it looks at the GPUs when it starts, when it gets SIGHUP and when the kubelet's
// socket is new, and at no other time: a MIG change while it runs is not noticed, a lost GPU is.
// Unlike it, it holds no NVML session and knows the strategies none and mixed only.
package main

import (
	"context"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const (
	folder = "/gpus"
	look   = 500 * time.Millisecond
	// Where a container's devices are mounted for the strategy volume-mounts; the runtime reads the names.
	mounts = "/var/run/nvidia-container-devices"
)

// plugin serves one resource to the kubelet.
type plugin struct {
	api.UnimplementedDevicePluginServer
	resource string
	devices  []device
	server   *grpc.Server
	ended    chan struct{}
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch says which devices there are, and again whenever the health of one changes.
func (p *plugin) ListAndWatch(_ *api.Empty, stream api.DevicePlugin_ListAndWatchServer) error {
	said := ""
	for {
		list, text := p.list()
		if text != said {
			if err := stream.Send(&api.ListAndWatchResponse{Devices: list}); err != nil {
				return err
			}
			said = text
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-p.ended:
			return nil
		case <-time.After(look):
		}
	}
}

func (p *plugin) list() ([]*api.Device, string) {
	lost := lostGPUs(folder)
	var list []*api.Device
	var text strings.Builder
	for _, each := range p.devices {
		health := api.Healthy
		if lost[each.gpu] {
			health = api.Unhealthy
		}
		list = append(list, &api.Device{ID: each.id, Health: health})
		text.WriteString(each.id + "=" + health + " ")
	}
	return list, text.String()
}

// Allocate answers as the strategy volume-mounts has it: a mount named after each device.
func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		answer := &api.ContainerAllocateResponse{Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": mounts}}
		for _, id := range container.DevicesIds {
			answer.Mounts = append(answer.Mounts, &api.Mount{
				HostPath: "/dev/null", ContainerPath: filepath.Join(mounts, id), ReadOnly: true,
			})
		}
		response.ContainerResponses = append(response.ContainerResponses, answer)
	}
	return response, nil
}

func (p *plugin) start() error {
	name := strings.ReplaceAll(p.resource, "/", "-") + ".sock"
	path := filepath.Join(api.DevicePluginPath, name)
	os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	api.RegisterDevicePluginServer(p.server, p)
	go p.server.Serve(listener)
	connection, err := grpc.NewClient("unix://"+api.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(ctx,
		&api.RegisterRequest{Version: api.Version, Endpoint: name, ResourceName: p.resource})
	log.Print("registered ", p.resource, ": ", len(p.devices))
	return err
}

func (p *plugin) stop() {
	close(p.ended)
	p.server.Stop()
}

// run offers what there is now and returns the plugins that do.
func run() []*plugin {
	offers, err := readOffers(folder, os.Getenv("MIG_STRATEGY"))
	if err != nil {
		log.Fatal(err)
	}
	var plugins []*plugin
	for resource, devices := range offers {
		each := &plugin{resource: resource, devices: devices, server: grpc.NewServer(), ended: make(chan struct{})}
		if err := each.start(); err != nil {
			log.Fatal(err)
		}
		plugins = append(plugins, each)
	}
	return plugins
}

// kubeletSocket identifies the kubelet's socket; a kubelet that starts makes a new one.
func kubeletSocket() (uint64, int64) {
	var status syscall.Stat_t
	if syscall.Stat(api.KubeletSocket, &status) != nil {
		return 0, 0
	}
	return status.Ino, status.Ctim.Nano()
}

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	for {
		inode, changed := kubeletSocket()
		plugins := run()
		for again := false; !again; {
			select {
			case which := <-signals:
				if which != syscall.SIGHUP {
					return
				}
				again = true
			case <-time.After(look):
				nowInode, nowChanged := kubeletSocket()
				again = nowInode != 0 && (nowInode != inode || nowChanged != changed)
			}
		}
		for _, each := range plugins {
			each.stop()
		}
	}
}
