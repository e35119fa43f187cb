/** Ctrl-C, told to what has to be ended first; a second one ends this process at once, and its engines with it. */
export function stopOnSignal(): AbortSignal {
  const stopping = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => (stopping.signal.aborted ? process.exit(130) : stopping.abort(new Error(`ended by ${name}`))))
  return stopping.signal
}
