/** Waits until searches find the loaded resources, and reports the index lag meanwhile. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Get } from '../client/http-post.ts'
import type { BufferedResponse } from '../client/server-response.ts'

export type IndexWaitOptions = {
  readonly base: string
  readonly get: Get
  /** X-Index-Tokens of the writes. */
  readonly tokens: readonly string[]
  /** Called with the number of versions that are not indexed yet; 0 once searches find everything. */
  readonly onBehind: (versions: number) => void
}

/** Maximum busy responses (503) in a row without progress of the index. Then the wait ends. */
const PATIENCE = 20
/** Milliseconds between two requests for the index lag. */
const BETWEEN = 250
/** A search that needs no resource of the type, because only the status of its response matters. */
const SEARCH = '/Basic?_count=0'

/**
 * Returns whether searches find everything now. If the index makes no progress or the search fails, it returns false: searches find
 * everything later.
 */
export async function waitUntilSearchable({ base, get, tokens, onBehind }: IndexWaitOptions): Promise<boolean> {
  if (tokens.length === 0) return true
  let behind: number | undefined
  let isOver = false
  const looking = (async () => {
    for (; !isOver; await wait(BETWEEN)) {
      const answer = await get(base + SEARCH, { 'x-consistency': 'eventual' }).catch(() => undefined)
      const now = answer && versionsBehind(answer)
      if (now === undefined || isOver) return
      behind = now
      onBehind(now)
    }
  })()
  try {
    for (let left = PATIENCE, before = behind; left > 0; left = behind === before ? left - 1 : PATIENCE) {
      before = behind
      const { status, headers } = await get(base + SEARCH, { 'x-index-token': tokens.join(', ') })
      if (status !== 503) {
        isOver = true
        if (status === 200 && behind !== undefined) onBehind(0)
        return status === 200
      }
      await wait(Number(headers['retry-after'] ?? 1) * 1_000)
    }
    return false
  } finally {
    isOver = true
    await looking
  }
}

function versionsBehind({ headers }: BufferedResponse): number | undefined {
  const [, versions] = /^(\d+) versions$/.exec(String(headers['x-index-lag'] ?? '')) ?? []
  return versions === undefined ? undefined : Number(versions)
}
