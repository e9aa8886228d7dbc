package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"os/exec"
	"sort"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// cluster is a running `podling test-server` with clients that use it.
type cluster struct {
	Kubeconfig string `json:"kubeconfig"`
	Clock      string `json:"clock"`

	typed   kubernetes.Interface // speaks protobuf
	dynamic dynamic.Interface    // speaks JSON
	types   *contentTypes

	command *exec.Cmd
	input   io.Closer
}

// startCluster returns a cluster when it is Ready. It ends with its standard input, also when this program is killed.
func startCluster(options ...string) (*cluster, error) {
	command := exec.Command("podling", append([]string{"test-server"}, options...)...)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	c := &cluster{command: command, input: input, types: &contentTypes{seen: map[string]bool{}}}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, c)
	}
	if err == nil {
		err = c.connect()
	}
	if err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	typed := rest.CopyConfig(config)
	typed.ContentType = protobuf
	typed.Wrap(c.types.around)
	c.typed, err = kubernetes.NewForConfig(typed)
	return err
}

// advance lets the cluster's time pass.
func (c *cluster) advance(ctx context.Context, by time.Duration) error {
	body := fmt.Sprintf(`{"seconds": %d}`, int(by.Seconds()))
	request := c.typed.CoreV1().RESTClient().Post().AbsPath(c.Clock, "advance")
	return request.SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(ctx).Error()
}

func (c *cluster) stop() error {
	c.input.Close()
	return c.command.Wait()
}

// contentTypes collects the media types of bodies that were sent and received.
type contentTypes struct {
	mutex sync.Mutex
	seen  map[string]bool
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (t *contentTypes) around(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && request.URL.Path[:4] == "/api" {
			t.note(request.Header)
			t.note(response.Header)
		}
		return response, err
	})
}

func (t *contentTypes) note(header http.Header) {
	if value, _, err := mime.ParseMediaType(header.Get("Content-Type")); err == nil {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.seen[value] = true
	}
}

func (t *contentTypes) seenTypes() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found := []string{}
	for each := range t.seen {
		found = append(found, each)
	}
	sort.Strings(found)
	return found
}
