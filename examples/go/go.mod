module podling.dev/examples

go 1.26.0

require (
	github.com/go-logr/logr v1.4.3
	k8s.io/api v0.36.2
	k8s.io/apimachinery v0.36.2
	k8s.io/client-go v0.36.2
	sigs.k8s.io/controller-runtime v0.24.1
)
