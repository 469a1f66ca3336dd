/**
 * The server says how long to wait; by default a second. The wait doubles after each connection that brought
 * nothing, up to half a minute, and chance adds up to half of it: not all clients of a server come back at once.
 */
export function backoff(suggested: number | undefined, failures: number): number {
  const first = Math.min(suggested ?? 1000, 300_000);
  const grown = Math.min(first * 2 ** Math.max(0, failures - 1), 30_000);
  return Math.max(first, grown) * (1 + Math.random() / 2);
}

/** Waits, or throws the signal's reason. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
