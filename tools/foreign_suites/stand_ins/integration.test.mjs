// The integration tests of client-node are functions that its own runner calls in one row; here each is a test.
import { test } from 'node:test';

for (const name of ['patchNamespace', 'cpFromPod', 'portForward', 'watchPods', 'informerReconnect']) {
    test(name, async () => {
        const { default: run } = await import(`./test/integration/${name}.ts`);
        await run();
    });
}
