/** Runs asynchronous work in parallel, with a limit. */

/**
 * Runs `work` for every item, at most `width` at a time. After a failure no further item begins. The call then rejects with the error, once
 * all running work has ended.
 */
export async function forEachInParallel<T>(items: readonly T[], width: number, work: (item: T) => Promise<unknown>): Promise<void> {
  const queue = items.values()
  let failed = false
  const results = await Promise.allSettled(
    Array.from({ length: Math.min(width, items.length) }, async () => {
      for (const item of queue) {
        if (failed) return
        await work(item).catch((error) => {
          failed = true
          throw error
        })
      }
    }),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

export async function forEachChunk<T>(items: readonly T[], size: number, work: (chunk: readonly T[]) => Promise<void>): Promise<void> {
  const chunks = Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
  await forEachInParallel(chunks, 16, work)
}
