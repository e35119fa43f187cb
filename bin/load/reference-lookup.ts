/** Finds the resources that searches of the form `Type?criteria` match. Sends many searches per request and caches their results. */
import type { Post } from '../client/http-post.ts'
import { type BufferedResponse, isSuccess, type OperationOutcome, parseJsonBody } from '../client/server-response.ts'

/** `keys`: Type/id of up to two matches, because two are enough to be ambiguous. `fault`: reason why there is no result. */
export type ReferenceMatches = { readonly keys: readonly string[]; readonly fault?: string }

export type ReferenceLookup = {
  /** Returns the matches of the searches. Rejects if the server cannot be reached. */
  readonly meanings: (searches: readonly string[]) => Promise<(search: string) => ReferenceMatches>
  /**
   * Forgets the searches without a match, so that they are sent again. `tokens`: X-Index-Tokens of writes that these searches must find.
   */
  readonly again: (tokens: readonly string[]) => void
}

const AT_ONCE = 200
const MAX_CACHED = 100_000

export function referenceLookup(post: Post): ReferenceLookup {
  const cache = new Map<string, ReferenceMatches | Promise<ReferenceMatches>>()
  let written: readonly string[] = []
  const sendSearches = (searches: readonly string[]): void => {
    const answered = answersTo(post, searches, written)
    for (const [i, search] of searches.entries()) {
      const meaning = answered.then((meanings) => meanings[i]!)
      cache.set(search, meaning)
      meaning.then(
        (value) => cache.set(search, value),
        () => cache.delete(search),
      )
    }
  }
  return {
    async meanings(searches) {
      if (cache.size > MAX_CACHED) cache.clear()
      const unknown = [...new Set(searches)].filter((search) => !cache.has(search))
      for (let i = 0; i < unknown.length; i += AT_ONCE) sendSearches(unknown.slice(i, i + AT_ONCE))
      // Read all cached values before the first await: a concurrent caller may clear the cache.
      const found = new Map(searches.map((search) => [search, cache.get(search)!]))
      const matches = new Map<string, ReferenceMatches>()
      for (const [search, meaning] of found) matches.set(search, await meaning)
      return (search) => matches.get(search)!
    },
    again(tokens) {
      written = tokens.slice(0, MAX_TOKENS)
      for (const [search, meaning] of cache) if ('keys' in meaning && meaning.keys.length === 0) cache.delete(search)
    },
  }
}

/** Maximum index tokens per request; further ones are left out. More would not fit into a header. */
const MAX_TOKENS = 40

async function answersTo(post: Post, searches: readonly string[], tokens: readonly string[]): Promise<readonly ReferenceMatches[]> {
  const entry = searches.map((search) => ({ request: { method: 'GET', url: `${search}&_count=2&_elements=id` } }))
  const body = Buffer.from(JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry }))
  const answer = await post(body, { prefer: 'handling=strict', ...(tokens.length === 0 ? {} : { 'x-index-token': tokens.join(', ') }) })
  return isSuccess(answer) ? meaningsIn(answer, searches) : searches.map(() => ({ keys: [], fault: faultOf(answer) }))
}

const faultOf = (answer: BufferedResponse): string => `${answer.status} ${textsOf(parseJsonBody(answer) as OperationOutcome)}`.trim()

/** Returns the issue texts without paths. Paths would refer to the Bundle of searches, which the user has never seen. */
const textsOf = (outcome: OperationOutcome | undefined): string => outcome?.issue?.map(({ details }) => details?.text).join('; ') ?? ''

type SearchEntry = { readonly resource?: { readonly resourceType?: string; readonly id?: string } }
type Answered = {
  readonly response?: { readonly status?: string; readonly outcome?: OperationOutcome }
  readonly resource?: { readonly entry?: readonly SearchEntry[] }
}

function meaningsIn(answer: BufferedResponse, searches: readonly string[]): readonly ReferenceMatches[] {
  const entries = (parseJsonBody(answer) as { readonly entry?: readonly Answered[] } | undefined)?.entry ?? []
  return searches.map((search, i) => {
    const { response, resource } = entries[i] ?? {}
    const { status = 'no answer', outcome } = response ?? {}
    if (!status.startsWith('2')) return { keys: [], fault: `${status} ${textsOf(outcome)}`.trim() }
    const type = search.slice(0, search.indexOf('?'))
    const found = (resource?.entry ?? []).flatMap(({ resource }) => (resource?.resourceType === type ? [`${type}/${resource.id}`] : []))
    return { keys: found }
  })
}
