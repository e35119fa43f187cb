/** The reads of a Bundle begin within a time of it; what is written is written. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import type { InteractionCode } from '../../../lambdas/catalogue/catalogue.ts'
import type { BundlePage } from '../../../lambdas/fhir/bundle.ts'
import { fhirError } from '../../../lambdas/fhir/outcome.ts'
import { batch } from '../../../lambdas/interactions/bundle/batch.ts'
import type { EntryRequest, EntryRunner } from '../../../lambdas/interactions/bundle/entry.ts'
import { EntryResponses } from '../../../lambdas/interactions/bundle/entry-responses.ts'
import { transaction } from '../../../lambdas/interactions/bundle/transaction.ts'
import type { FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import type { WritePorts } from '../../../lambdas/interactions/writing/write-loop.ts'

const request = { tenant: 'default', access: WHOLE_ACCESS, baseUrl: 'http://x', preferences: {} } as unknown as FhirRequest
const entry = (method: string, url: string, index: number): EntryRequest => ({ index, method, url, headers: {} })
const NOTHING = { patients: [], queries: [] }
const reads = Array.from({ length: 10 }, (_, i) => entry('GET', `Patient/${i}`, i))

/** Each interaction takes five seconds. */
function slowly() {
  let now = 0
  const clock = { now: () => now, newId: () => 'id' }
  const run: EntryRunner['run'] = async ({ method, url }, _, begins) => {
    begins(url.includes('_search') ? 'search-type' : method === 'POST' ? 'create' : 'read', NOTHING)
    now += 5_000
    return { status: 200 }
  }
  const perform: EntryRunner = { run, prepare: async () => request }
  return { clock, perform, answers: new EntryResponses(request, clock) }
}

const statuses = ({ entries }: EntryResponses) => entries.map(({ more }) => (more as { response: { status: string } }).response.status)

describe('after twenty seconds', () => {
  it('the remaining reads of a batch are rejected', async () => {
    const { perform, answers } = slowly()
    await batch(perform)(reads, request, answers)
    expect(statuses(answers)).toEqual([...Array(5).fill('200 OK'), ...Array(5).fill('403 Forbidden')])
    expect(JSON.stringify(answers.entries[5])).toContain('The answers to the entries before took 20 seconds')
  })

  it('the writes of a batch are performed, and its searches and HEAD reads are rejected', async () => {
    const { perform, answers } = slowly()
    const writes = Array.from({ length: 10 }, (_, i) => entry('POST', 'Patient', i))
    await batch(perform)([...writes, entry('POST', 'Patient/_search', 10), entry('HEAD', 'Patient/1', 11)], request, answers)
    expect(statuses(answers)).toEqual([...Array(10).fill('200 OK'), '403 Forbidden', '403 Forbidden'])
  })

  it('a transaction with remaining reads is not started', async () => {
    const { perform, answers } = slowly()
    await expect(transaction({} as never, perform)(reads, request, answers)).rejects.toMatchObject({
      status: 403,
      issues: [{ code: 'too-costly', expression: 'Bundle.entry[5]' }],
    })
  })
})

it('a transaction holds no answer of the reads before its commit', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const bodies: WeakRef<Uint8Array>[] = []
  let held = 0
  const run: EntryRunner['run'] = async () => {
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    held = bodies.filter((body) => body.deref() !== undefined).length
    if (bodies.length === reads.length - 1) throw fhirError(404, 'not-found', 'the last read ends the transaction')
    const body = new Uint8Array(1_000)
    bodies.push(new WeakRef(body))
    return { status: 200, body }
  }
  const answers = new EntryResponses(request, { now: () => 0, newId: () => 'id' })
  const ended = transaction({} as never, { run, prepare: async () => request })(reads, request, answers)
  await expect(ended).rejects.toMatchObject({ status: 404 })
  expect(held).toBeLessThanOrEqual(1)
})

it('a page counts while it is written', async () => {
  const answers = new EntryResponses(request, { now: () => 0, newId: () => 'id' })
  const resource = new Uint8Array(1_000_000)
  const page: BundlePage = { kind: 'bundle', type: 'history', link: [], entries: Array.from({ length: 51 }, () => ({ resource })) }
  const begin = (code: InteractionCode) => answers.beginning(reads[0]!)(code, NOTHING)
  begin('read')
  const added = answers.add(reads[0]!, { status: 200, body: page })
  expect(() => begin('read')).toThrow()
  await added
  expect(() => begin('read')).toThrow()
  expect(() => begin('create')).not.toThrow()
})

it('concurrent reads stay within the size limit: later ones are 403, writes are reported', async () => {
  const answers = new EntryResponses(request, { now: () => 0, newId: () => 'id' })
  const body = new Uint8Array(6_000_000)
  const run: EntryRunner['run'] = async ({ method, url }, _, begins) => {
    begins(url.includes('_search') ? 'search-type' : method === 'POST' ? 'create' : 'read', NOTHING)
    await new Promise((resolve) => setImmediate(resolve))
    return { status: 200, body }
  }
  const entries = [...Array.from({ length: 20 }, (_, i) => entry('GET', `Patient/${i}`, i)), entry('POST', 'Patient/_search', 20)]
  const perform: EntryRunner = { run, prepare: async () => request }
  await Promise.all([...entries, entry('POST', 'Patient', 21)].map((each) => answers.runAlone(perform, each)))
  expect(statuses(answers)).toEqual([...Array(9).fill('200 OK'), ...Array(12).fill('403 Forbidden'), '200 OK'])
  expect(JSON.stringify(answers.entries[20])).toContain('Bundle.entry[20]')
})

it('answers of writes have no resource above the size limit', async () => {
  const asked = { ...request, preferences: { return: 'representation' } } as FhirRequest
  const answers = new EntryResponses(asked, { now: () => 0, newId: () => 'id' })
  const run: EntryRunner['run'] = async () => ({ status: 201, headers: { etag: 'W/"1"' }, body: new Uint8Array(6_000_000) })
  const writes = Array.from({ length: 20 }, (_, i) => entry('POST', 'Patient', i))
  await batch({ run, prepare: async () => request })(writes, asked, answers)
  expect(statuses(answers)).toEqual(Array(20).fill('201 Created'))
  expect(answers.entries.map(({ resource }) => resource !== undefined)).toEqual([...Array(9).fill(true), ...Array(11).fill(false)])
})

it('a transaction holds resources that match conditional creates up to the size limit', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const bodies: WeakRef<Uint8Array>[] = []
  const creating = {
    ...{ ...request, interaction: 'create', type: 'Patient', parameters: [], reading: { baseUrl: 'http://x' } },
    ...{ preconditions: { ifNoneExist: 'identifier=x' }, resource: { resourceType: 'Patient', id: 'new' } },
  } as unknown as FhirRequest
  let [held, searches] = [0, 0]
  const clock = { now: () => 0, newId: () => 'id' }
  const ports = {
    clock,
    choices: {},
    latest: () => ({ find: async () => ({ hits: [{ type: 'Patient', id: `p${searches++}`, version: 1, position: [] }], more: false }) }),
    resources: () => ({
      versions: async ([key]: readonly object[]) => {
        await new Promise((resolve) => setImmediate(resolve))
        const body = new Uint8Array(6_000_000)
        bodies.push(new WeakRef(body))
        return [{ ...key, lastUpdated: 1, deleted: false, compartments: [], body }]
      },
    }),
    heads: async () => {
      await new Promise((resolve) => setImmediate(resolve))
      collectGarbage()
      held = bodies.filter((body) => body.deref() !== undefined).length
      throw fhirError(404, 'not-found', 'the last entry ends the transaction')
    },
  } as unknown as WritePorts
  const last = {
    ...creating,
    interaction: 'update',
    id: 'p',
    preconditions: {},
    resource: { resourceType: 'Patient', id: 'p' },
  } as FhirRequest
  const perform: EntryRunner = { run: async () => ({ status: 200 }), prepare: async ({ method }) => (method === 'PUT' ? last : creating) }
  const entries = [...Array.from({ length: 20 }, (_, i) => entry('POST', 'Patient', i)), entry('PUT', 'Patient/p', 20)]
  const ended = transaction(ports, perform)(entries, request, new EntryResponses(request, clock))
  await expect(ended).rejects.toMatchObject({ status: 404 })
  expect([bodies.length, held]).toEqual([20, 8])
})
