/** Searches of a partner with a member in context: how often they read the resources of the member. */
import { describe, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { partnerAccessOf } from '../../../lambdas/access/partner-access.ts'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import type { BundlePage } from '../../../lambdas/fhir/bundle.ts'
import { entryRunner, NO_TIME_LIMIT } from '../../../lambdas/http/entry-runner.ts'
import { bundle } from '../../../lambdas/interactions/bundle/bundle.ts'
import type { FhirRequest, Interaction } from '../../../lambdas/interactions/interaction.ts'
import { search } from '../../../lambdas/interactions/rest/search.ts'
import type { SearchPorts } from '../../../lambdas/interactions/searching/page-entries.ts'
import { visibleStoreOf } from '../../../lambdas/interactions/visible-store.ts'
import type { WritePorts } from '../../../lambdas/interactions/writing/write-loop.ts'
import type { Plan } from '../../../lambdas/ports/search/plan.ts'
import type { ResourceKey, ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { extract } from '../../../lambdas/search/documents/extract.ts'
import { runAtEnd } from '../../fixtures/at-end.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { observation, type Tree } from '../../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'
import { stepsWith } from '../../http/front.ts'

const TENANT = 't'
const READING = { baseUrl: 'http://a.example/fhir' }
const ANN = 'Patient/ann'
const NOW = Date.parse('2026-01-15T12:00:00Z')

/** Access of one token, which all requests share. */
const ACCESS = partnerAccessOf(WHOLE_ACCESS, {
  partner: { kind: 'payer', identifiers: [] },
  ...{ client: 'payer', scopes: [], member: { name: ANN, limits: { at: NOW, excluded: [] } } },
})

/** `counts`: lookups of the index, and versions that the store read. */
type MemberServer = {
  readonly counts: { lookups: number; versions: number }
  readonly add: (id: string) => Promise<void>
  readonly send: (type: 'batch' | 'transaction', urls: readonly string[]) => Promise<readonly Tree[]>
}

/** Returns a server that stores Observations of a member. */
async function memberServerOf(ids: readonly string[]): Promise<MemberServer> {
  const index = new SqliteSearchIndex(':memory:')
  runAtEnd(() => index.close())
  const stored = new Map<string, ResourceVersion>()
  const counts = { lookups: 0, versions: 0 }
  const add = async (id: string): Promise<void> => {
    const body = observation(id, { subject: ANN, date: '2026-01-01' })
    const version = versionOf(writeOf(resourceKeyOf(TENANT, 'Observation', id), { body, compartments: [ANN] }))
    stored.set(id, version)
    await index.apply([extract(version, body, READING)])
  }
  for (const id of ids) await add(id)
  const versions = async (keys: readonly ResourceKey[]) => {
    counts.versions += keys.length
    return keys.map(({ id }) => stored.get(id))
  }
  const history = () => Promise.reject(new Error('no history was expected'))
  const ports = {
    index: {
      outdated: async () => [],
      find: (plan: Plan) => {
        counts.lookups++
        return index.find(plan)
      },
    },
    resources: visibleStoreOf({ current: versions, versions, history }, () => EXPRESSIONS),
    latest: () => index,
    clock: { now: () => NOW, newId: () => 'id' },
    seal: { seal: (text: string) => text, digest: () => 'digest' },
    choices: { clientIds: 'optional', maxTransactionEntries: 100 },
  } as unknown as SearchPorts & WritePorts
  const searches: Interaction = search(ports)
  const perform = entryRunner({ 'search-type': searches }, stepsWith(), (error) => expect(error).toBeUndefined(), NO_TIME_LIMIT)
  const run = bundle(ports, perform)
  return {
    ...{ counts, add },
    async send(type, urls) {
      const entry = urls.map((url) => ({ request: { method: 'GET', url } }))
      const request = {
        ...{ tenant: TENANT, client: 'payer', access: ACCESS, baseUrl: READING.baseUrl, reading: READING, requestId: 'id' },
        ...{ parameters: [], posted: false, preferences: {}, preconditions: {}, interaction: 'bundle' },
        resource: { resourceType: 'Bundle', type, entry },
      } as unknown as FhirRequest
      const { entries } = (await run(request)).body as BundlePage
      return entries.map(({ resource }) => JSON.parse(Buffer.concat(resource as never).toString()))
    },
  }
}

const COUNT = 'Observation?_summary=count'
const totalsOf = (answers: readonly Tree[]) => answers.map(({ total }) => total)

/** Returns the totals of a Bundle of equal searches. `lookups`: without one for each search. */
async function countsOf(type: 'batch' | 'transaction', searches: number) {
  const { send, counts } = await memberServerOf(['a', 'b', 'c'])
  const totals = totalsOf(await send(type, Array(searches).fill(COUNT)))
  return { totals, lookups: counts.lookups, versions: counts.versions }
}

describe('the searches of a Bundle', () => {
  it('read the resources of the member once in a batch', async () => {
    const one = await countsOf('batch', 1)
    expect(one).toEqual({ totals: [3], lookups: 2, versions: 3 })
    expect(await countsOf('batch', 5)).toEqual({ totals: Array(5).fill(3), lookups: one.lookups + 4, versions: one.versions })
  })

  it('read them once in a transaction, which runs each search twice', async () => {
    expect(await countsOf('transaction', 5)).toEqual({ totals: Array(5).fill(3), lookups: 1 + 5 * 2, versions: 3 })
  })

  it('read them again for the next Bundle with the same token', async () => {
    const { send, add } = await memberServerOf(['a'])
    expect(totalsOf(await send('batch', [COUNT]))).toEqual([1])
    await add('b')
    expect(totalsOf(await send('batch', [COUNT]))).toEqual([2])
  })
})
