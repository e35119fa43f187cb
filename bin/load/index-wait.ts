/** Waits until searches find what was loaded, and tells how far the index is behind as long as it is. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Get } from '../client/http-post.ts'
import type { BufferedResponse } from '../client/server-response.ts'

export type IndexWaitOptions = {
  readonly base: string
  readonly ask: Get
  /** X-Index-Tokens of what was written. */
  readonly tokens: readonly string[]
  /** Versions that are not indexed yet; 0 when none is left. */
  readonly onBehind: (versions: number) => void
}

/** Answers of a busy server while its index came no further. */
const PATIENCE = 20
/** Milliseconds between two looks at how far it is. */
const BETWEEN = 250
/** It needs no resource of the type: what is asked for is that it is answered. */
const SEARCH = '/Basic?_count=0'

/** False where the index comes no further, or the server does not say: searches find everything later. */
export async function waitUntilSearchable({ base, ask, tokens, onBehind }: IndexWaitOptions): Promise<boolean> {
  if (tokens.length === 0) return true
  let behind: number | undefined
  let isOver = false
  const looking = (async () => {
    for (; !isOver; await wait(BETWEEN)) {
      const answer = await ask(base + SEARCH, { 'x-consistency': 'eventual' }).catch(() => undefined)
      const now = answer && versionsBehind(answer)
      if (now === undefined || isOver) return
      behind = now
      onBehind(now)
    }
  })()
  try {
    for (let left = PATIENCE, before = behind; left > 0; left = behind === before ? left - 1 : PATIENCE) {
      before = behind
      const { status, headers } = await ask(base + SEARCH, { 'x-index-token': tokens.join(', ') })
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
