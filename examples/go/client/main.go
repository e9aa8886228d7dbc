// Command client lets client-go use a cluster of `podling test-server`: an informer, garbage collection, leader
// election, a month of a CronJob with the clock wound, and protobuf in all of it.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	namespace = "default"
	patience  = time.Minute
)

func main() {
	c, err := startCluster("--clock", "paused", "--nodes", "2")
	if err != nil {
		log.Fatal(err)
	}
	steps := []func(context.Context, *cluster) error{
		watchDeployment, electLeader, runCronJobForMonth, printContentTypes,
	}
	for _, step := range steps {
		if err = step(context.Background(), c); err != nil {
			break
		}
	}
	if ended := c.stop(); err == nil {
		err = ended
	}
	if err != nil {
		log.Fatal(err)
	}
}

// watchDeployment sees the pods of a Deployment come and go in the store of an informer.
func watchDeployment(ctx context.Context, c *cluster) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := informers.NewSharedInformerFactoryWithOptions(c.typed, 0, informers.WithNamespace(namespace))
	pods := factory.Core().V1().Pods()
	changes := make(chan struct{}, 1)
	changed := func() {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
	pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(interface{}) { changed() },
		UpdateFunc: func(interface{}, interface{}) { changed() },
		DeleteFunc: func(interface{}) { changed() },
	})
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced) {
		return fmt.Errorf("the informer did not synchronise")
	}
	wait := func(count int) error {
		deadline := time.After(patience)
		for {
			running := 0
			found, err := pods.Lister().Pods(namespace).List(labels.Everything())
			if err != nil {
				return err
			}
			for _, pod := range found {
				if pod.Status.Phase == corev1.PodRunning {
					running++
				}
			}
			if len(found) == count && running == count {
				return nil
			}
			select {
			case <-changes:
			case <-deadline:
				return fmt.Errorf("%d pods, %d of them running; wanted %d", len(found), running, count)
			}
		}
	}
	deployments := c.typed.AppsV1().Deployments(namespace)
	if _, err := deployments.Create(ctx, web(3), metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := wait(3); err != nil {
		return err
	}
	fmt.Println("informer: 3 pods are running")
	foreground := metav1.DeletePropagationForeground
	if err := deployments.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		return err
	}
	if err := c.advance(ctx, time.Minute); err != nil { // the time that containers have to end
		return err
	}
	if err := wait(0); err != nil {
		return err
	}
	left, err := c.typed.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(left.Items) > 0 {
		return fmt.Errorf("%d replica sets are left: %v", len(left.Items), err)
	}
	fmt.Println("garbage collection: pods and replica sets are gone")
	return nil
}

func web(replicas int32) *appsv1.Deployment {
	selector := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: selector},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:1"}}},
			},
		},
	}
}

// electLeader lets a second candidate take over the lease that the first one gives up. The candidates' own waiting
// is the machine's time.
func electLeader(ctx context.Context, c *cluster) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	first, resign := context.WithCancel(ctx)
	defer resign()
	leaders := make(chan string)
	stand := func(ctx context.Context, name string) {
		lock := &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "leader"},
			Client:     c.typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock:            lock,
			LeaseDuration:   10 * time.Second,
			RenewDeadline:   5 * time.Second,
			RetryPeriod:     200 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leaders <- name },
				OnStoppedLeading: func() {},
			},
		})
	}
	go stand(first, "first")
	if err := expectLeader(ctx, leaders, "first"); err != nil {
		return err
	}
	go stand(ctx, "second")
	resign()
	if err := expectLeader(ctx, leaders, "second"); err != nil {
		return err
	}
	lease, err := c.typed.CoordinationV1().Leases(namespace).Get(ctx, "leader", metav1.GetOptions{})
	if err != nil {
		return err
	}
	holder, transitions := *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions
	fmt.Printf("leader election: %s leads after %d transition(s)\n", holder, transitions)
	return nil
}

func expectLeader(ctx context.Context, leaders <-chan string, name string) error {
	select {
	case leader := <-leaders:
		if leader != name {
			return fmt.Errorf("%s leads; wanted %s", leader, name)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s does not lead: %w", name, ctx.Err())
	}
}

// runCronJobForMonth winds the clock by 31 days and counts the Jobs. The dynamic client makes the CronJob: client-go
// before 1.21 has no type for it.
func runCronJobForMonth(ctx context.Context, c *cluster) error {
	cronJobs := schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "cronjobs"}
	_, err := c.dynamic.Resource(cronJobs).Namespace(namespace).Create(ctx, nightly(), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	began := time.Now()
	if err := c.advance(ctx, 31*24*time.Hour); err != nil {
		return err
	}
	jobs, err := c.typed.BatchV1().Jobs(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	complete := 0
	for _, job := range jobs.Items {
		if isComplete(job) {
			complete++
		}
	}
	if complete != 31 {
		return fmt.Errorf("%d of %d Jobs are complete; wanted 31", complete, len(jobs.Items))
	}
	log.Printf("a month took %s", time.Since(began).Round(time.Millisecond))
	fmt.Println("a month: 31 Jobs are complete")
	return nil
}

func isComplete(job batchv1.Job) bool {
	for _, condition := range job.Status.Conditions {
		if condition.Type == batchv1.JobComplete {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// nightly returns a CronJob whose containers run for ten minutes.
func nightly() *unstructured.Unstructured {
	type object = map[string]interface{}
	container := object{"name": "main", "image": "report:1"}
	template := object{
		"metadata": object{"annotations": object{"sim.podling.dev/main": `{"runs": [{"seconds": 600}]}`}},
		"spec":     object{"restartPolicy": "Never", "containers": []interface{}{container}},
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "batch/v1",
		"kind":       "CronJob",
		"metadata":   object{"name": "nightly"},
		"spec": object{
			"schedule":                   "0 3 * * *",
			"successfulJobsHistoryLimit": int64(100),
			"jobTemplate":                object{"spec": object{"template": template}},
		},
	}}
}

// printContentTypes fails unless the typed client has sent and received nothing but protobuf.
func printContentTypes(_ context.Context, c *cluster) error {
	seen := c.types.seenTypes()
	if len(seen) != 1 || seen[0] != protobuf {
		return fmt.Errorf("the typed client has met %v", seen)
	}
	fmt.Println("content type:", protobuf)
	return nil
}
