// Package envtest is a suite of controller-runtime's envtest that starts the programs of `podling envtest`.
package envtest

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	namespace = "default"
	patience  = time.Minute
)

// reconciler makes a Deployment for each ConfigMap with the label "site".
type reconciler struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var site corev1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &site); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if site.Labels["site"] == "" {
		return reconcile.Result{}, nil
	}
	deployment := web(site.Name)
	if err := controllerutil.SetControllerReference(&site, deployment, r.scheme); err != nil {
		return reconcile.Result{}, err
	}
	if err := r.Create(ctx, deployment); err != nil && !apierrors.IsAlreadyExists(err) {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, nil
}

func web(name string) *appsv1.Deployment {
	replicas, selector := int32(2), map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
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

// TestOperatorInCluster runs a manager with leader election against the programs that envtest starts and ends.
func TestOperatorInCluster(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	log.SetLogger(logr.Discard())
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	}()
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        clientgoscheme.Scheme,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "sites.example.com",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &reconciler{manager.GetClient(), manager.GetScheme()}
	builder := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{})
	if err := builder.Complete(r); err != nil {
		t.Fatal(err)
	}
	managing, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(managing) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	site := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "blog", Namespace: namespace, Labels: map[string]string{"site": "yes"},
	}}
	if err := r.Create(ctx, site); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, "an available Deployment", func() (bool, error) {
		found, err := clientset.AppsV1().Deployments(namespace).Get(ctx, "blog", metav1.GetOptions{})
		return err == nil && found.Status.AvailableReplicas == 2, client.IgnoreNotFound(err)
	})
	lease, err := clientset.CoordinationV1().Leases(namespace).Get(ctx, "sites.example.com", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		t.Fatalf("the manager holds no lease: %v", err)
	}
	if err := r.Delete(ctx, site); err != nil {
		t.Fatal(err)
	}
	expect(ctx, t, "the collection of Deployment and pods", func() (bool, error) {
		deployments, err := clientset.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		pods, err := clientset.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(deployments.Items)+len(pods.Items) == 0, err
	})
}

// expect fails the test unless something is true within a minute.
func expect(ctx context.Context, t *testing.T, what string, isTrue func() (bool, error)) {
	t.Helper()
	check := func(context.Context) (bool, error) { return isTrue() }
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, check); err != nil {
		t.Fatalf("no %s: %v", what, err)
	}
}
