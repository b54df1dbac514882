package jetstream

import "fmt"

// Rights returns the least that an account of NATS must let a node do: the subjects that it publishes
// to and subscribes to, where the buckets are there already. With sweep the node may also remove
// marks of deletions (see Store.Sweep).
func Rights(sweep bool) (publish, subscribe []string) {
	publish = []string{"$JS.API.INFO"}
	for _, bucket := range buckets {
		publish = append(publish, fmt.Sprintf("$KV.%s.>", bucket.name))
		for _, subject := range []string{
			"$JS.API.STREAM.INFO.%s", "$JS.API.STREAM.MSG.GET.%s",
			"$JS.API.CONSUMER.CREATE.%s", "$JS.API.CONSUMER.CREATE.%s.>", "$JS.API.CONSUMER.INFO.%s.>", "$JS.API.CONSUMER.DELETE.%s.>",
			"$JS.FC.%s.>",
		} {
			publish = append(publish, fmt.Sprintf(subject, stream(bucket.name)))
		}
	}
	if sweep {
		for _, bucket := range swept {
			publish = append(publish, "$JS.API.STREAM.PURGE."+stream(bucket))
		}
	}
	return publish, []string{inbox + ".>"}
}
