/**
 * Read-your-writes for an index that lags behind the store. A write returns a token, and a search with this token waits until the index has
 * the write. Alternatively the write itself waits. FHIR does not define this. https://hl7.org/fhir/R4/search.html
 */
import { fhirError } from '../../fhir/outcome.ts'
import type { BaseUrls } from '../../fhir/references.ts'
import { type EntryRequest, entriesOf } from '../../interactions/bundle/entry.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import { indexBehind } from '../../ports/faults.ts'
import type { IndexVisibility } from '../../ports/search/search-index.ts'
import type { QueryDigest } from '../../ports/security/query-digest.ts'
import type { Seal } from '../../ports/security/seal.ts'
import type { VersionKey } from '../../ports/store/resource-store.ts'
import { callerOf, type Exchange, type Step } from '../exchange.ts'
import { matchEntry } from '../route-table.ts'

export type Consistency = 'eventual' | 'strong'

export type TokenParts = {
  readonly seal: Seal & QueryDigest
  readonly clock: Clock
  readonly index: IndexVisibility
  /** The setting `consistency`. `strong`: writes without X-Consistency wait until searches find them. */
  readonly consistency: Consistency
  /** Stores the content of tokens that are too long for a header. */
  readonly blobs: Pick<BlobStore, 'get' | 'put'>
  /** Returns the tokens that the index must have reached for these versions to be visible. */
  readonly tokensOf: (written: readonly VersionKey[]) => readonly string[]
}

/** Maximum milliseconds that a request waits for the index. After them a search is answered 503, and a write gets X-Index-Lag. */
const PATIENCE = 5_000
const HEADER = 'x-index-token'
/** Maximum characters of a sealed token. The content of a longer one is stored, and the token carries its key. */
const LONGEST = 200
/** Maximum tokens in X-Index-Token of one request. If there are more, it is answered 400. */
const MOST = 100
const FOLDER = 'tokens'

type Report = (error: unknown, requestId: string) => void

/**
 * Step of writes: returns a token that is bound to the tenant.
 * With strong consistency it waits until searches find the write. If that takes too long, the write still succeeds, and X-Index-Lag says
 * how many of its versions searches may not find yet.
 * A fault in this step cannot undo the write, so it is only reported.
 */
export const returnIndexToken = (parts: TokenParts, report: Report): Step => ({
  async after(request) {
    const { event, response } = request
    if (response === undefined || response === null || response.status >= 300) return
    const written = 'written' in response ? (response.written ?? []) : []
    const tokens = parts.tokensOf(written)
    const failed = (error: unknown): undefined => void report(error, event.requestId)
    const waits = written.length > 0 && consistencyOf(event, parts) === 'strong'
    const isLate = waits && (await parts.index.caughtUp(tokens, PATIENCE, callerOf(event).tenant).catch(failed)) !== true
    const token = await sealed(parts, callerOf(event).tenant, tokens).catch(failed)
    const headers = {
      ...(token === undefined ? {} : { [HEADER]: token }),
      ...(isLate ? { 'x-index-lag': `${written.length} versions` } : {}),
    }
    request.response = { ...response, headers: { ...response.headers, ...headers } }
  },
})

/** Returns the consistency of the write: that of X-Consistency, otherwise that of the client, otherwise the setting. */
const consistencyOf = ({ http, token }: Exchange, { consistency }: TokenParts): string =>
  http.headers['x-consistency'] ?? token?.consistency ?? consistency

/**
 * Step of searches, operations that look up resources, and Bundles with searches: waits for the tokens of the request.
 * In a Bundle it waits before any entry runs.
 * Throws FhirError 400 for too many tokens, or one of another server or tenant. Searches also find definitions of the shared tenant, so its
 * tokens are valid too.
 * Throws FhirError 410 for a token from before a point-in-time restore, or one whose stored content was removed.
 * Throws the fault `index-behind` if the index does not reach the tokens within five seconds.
 */
export const awaitIndexToken = (parts: TokenParts): Step => ({
  async before({ event }) {
    const given = event.http.headers[HEADER]
    if (given === undefined || !searches(event)) return
    const { tenant } = callerOf(event)
    const tenants = [tenant, event.site.sharedTenant]
    const texts = given.split(',', MOST + 1)
    // guard: index-tokens-limit
    if (texts.length > MOST) throw fhirError(400, 'too-costly', `A search takes at most ${MOST} values of X-Index-Token`)
    const tokens = await Promise.all(texts.map((token) => opened(parts, tenants, token.trim())))
    const byTenant = Map.groupBy(tokens, ({ of }) => of)
    const caughtUp = [...byTenant].map(([of, some]) =>
      parts.index.caughtUp(
        some.flatMap(({ tokens }) => tokens),
        PATIENCE,
        of,
      ),
    )
    if ((await Promise.all(caughtUp)).includes(false)) throw indexBehind()
  },
})

function searches(exchange: Exchange): boolean {
  const { interaction, fhir, site } = exchange
  if (interaction !== 'bundle') return true
  const bases = site.reading(callerOf(exchange).tenant)
  return fhir.resource !== undefined && entriesOf(fhir.resource).some((entry) => isSearch(entry, bases))
}

/** Whether the entry is a search. Returns false for an entry without a route, which fails later as that entry. */
function isSearch(entry: EntryRequest, bases: BaseUrls): boolean {
  try {
    return matchEntry(entry, bases).interaction.startsWith('search')
  } catch {
    return false
  }
}

async function sealed({ seal, clock, blobs }: TokenParts, tenant: string, tokens: readonly string[]): Promise<string> {
  const token = seal.seal(JSON.stringify([tenant, tokens]), clock.now())
  if (token.length <= LONGEST) return token
  const text = JSON.stringify(tokens)
  const key = seal.digest(`${tenant} ${text}`)
  await blobs.put(`${FOLDER}/${key}`, { bytes: new TextEncoder().encode(text), contentType: 'application/json' })
  return seal.seal(JSON.stringify([tenant, key]), clock.now())
}

/** Content of an X-Index-Token. `of`: tenant of the write. */
type OpenedToken = { readonly of: string; readonly tokens: readonly string[] }

async function opened({ seal, blobs }: TokenParts, tenants: readonly (string | undefined)[], token: string): Promise<OpenedToken> {
  const { text, isFormer } = seal.open(token) ?? { text: '[]' }
  const [of, named] = JSON.parse(text) as readonly [string?, (string | readonly string[])?]
  // guard: index-token-of-tenant
  if (of === undefined || named === undefined || !tenants.includes(of))
    throw fhirError(400, 'value', 'The X-Index-Token is not from this server')
  if (isFormer === true)
    throw fhirError(
      410,
      'not-found',
      'The X-Index-Token is from before the data of this server was set back to an earlier time: what it names may be gone. Search without it',
    )
  if (typeof named !== 'string') return { of, tokens: named }
  const kept = await blobs.get(`${FOLDER}/${named}`)
  if (kept === undefined) throw fhirError(410, 'not-found', 'The content of the X-Index-Token is no longer stored')
  return { of, tokens: JSON.parse(new TextDecoder().decode(kept.bytes)) as readonly string[] }
}
