/**
 * An index that follows the store: results of searches that wait for it, results of searches that do not, and effects of an index lag. This
 * stage is open to every caller; the other stages of this folder require tokens.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from '@jest/globals'
import { newId, type Tree } from '../api/server.ts'
import { patient } from '../fixtures/resources.ts'
import { OPEN_ACCESS } from './assembly.ts'
import { runOnCloud } from './requested-deployment.ts'

type Given = { readonly status: number; readonly headers: Headers; readonly body: Tree }

async function send(method: string, path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<Given> {
  const content = body === undefined ? {} : { body: JSON.stringify(body) }
  const given = { 'content-type': 'application/fhir+json', ...headers }
  const response = await fetch(process.env.FHIR_BASE_URL + path, { method, headers: given, ...content })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

const MOST_AGAIN = 10

const put = (id: string, family: string, headers: Readonly<Record<string, string>> = {}) =>
  send('PUT', `/Patient/${id}`, patient(id, { family }), headers)
/** On a busy machine the index may need longer than a search waits. Then the search is repeated after Retry-After. */
async function search(query: string, headers: Readonly<Record<string, string>> = {}): Promise<Tree> {
  for (let again = 0; ; again++) {
    const found = await send('GET', `/Patient?${query}`, undefined, headers)
    if (found.status === 200) return found.body
    if (found.status !== 503 || again === MOST_AGAIN) throw new Error(`${found.status} ${JSON.stringify(found.body)}`)
    await wait(Number(found.headers.get('retry-after')) * 1_000)
  }
}
const find = async (family: string, headers: Readonly<Record<string, string>> = {}): Promise<readonly string[]> =>
  ((await search(`family:exact=${family}`, headers)).entry ?? []).map(({ resource }: Tree) => resource.id)
const tokenOf = ({ headers }: Given): string => headers.get('x-index-token')!

runOnCloud('an index that keeps up', { settings: OPEN_ACCESS }, () => {
  it('shows a write to a search with its token, and hides the previous version', async () => {
    const id = newId()
    for (let i = 0; i < 10; i++) {
      const token = { 'x-index-token': tokenOf(await put(id, `${id}-${i}`)) }
      expect(await find(`${id}-${i}`, token)).toEqual([id])
      expect(await find(`${id}-${i - 1}`, token)).toEqual([])
    }
    const gone = { 'x-index-token': tokenOf(await send('DELETE', `/Patient/${id}`)) }
    expect(await find(`${id}-9`, gone)).toEqual([])
  })

  it('shows all writes of a transaction to a search with its token', async () => {
    const mark = newId()
    const entry = Array.from({ length: 150 }, () => {
      const id = newId()
      return { resource: patient(id, { family: mark }), request: { method: 'PUT', url: `Patient/${id}` } }
    })
    const answer = await send('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
    const headers = { 'x-index-token': tokenOf(answer) }
    expect((await search(`family:exact=${mark}&_summary=count`, headers)).total).toBe(150)
  })

  it('shows a write with X-Consistency: strong to every search after it', async () => {
    const id = newId()
    let visible = 0
    // X-Index-Lag reports a write that did not wait long enough.
    for (let i = 0; i < 5 || (visible < 5 && i < 50); i++) {
      const { status, headers } = await put(id, `${id}-${i}`, { 'x-consistency': 'strong' })
      expect(status).toBe(i === 0 ? 201 : 200)
      if (headers.get('x-index-lag') !== null) continue
      visible++
      expect(await find(`${id}-${i}`)).toEqual([id])
    }
    expect(visible).toBeGreaterThanOrEqual(5)
  })
})

runOnCloud('an index that stays behind', { settings: OPEN_ACCESS, here: true, follows: false }, () => {
  it('loses and rejects no write, and answers 503 to searches that wait', async () => {
    const id = newId()
    const written = await put(id, id)
    expect(written.status).toBe(201)
    expect((await send('GET', `/Patient/${id}`)).status).toBe(200)
    expect(await find(id)).toEqual([])
    const [waiting, strong] = await Promise.all([
      send('GET', `/Patient?family:exact=${id}`, undefined, { 'x-index-token': tokenOf(written) }),
      put(id, `${id}-strong`, { 'x-consistency': 'strong' }),
    ])
    expect([waiting.status, waiting.body.resourceType]).toEqual([503, 'OperationOutcome'])
    expect(Number(waiting.headers.get('retry-after'))).toBeGreaterThan(0)
    expect([strong.status, strong.headers.get('x-index-lag')]).toEqual([200, '1 versions'])
  })

  it('does not let a conditional create store a second resource', async () => {
    const value = newId()
    const create = () => send('POST', '/Patient', patient(newId(), { identifier: [{ value }] }), { 'if-none-exist': `identifier=${value}` })
    const [first, second] = [await create(), await create()]
    expect([first.status, second.status, second.body.id]).toEqual([201, 200, first.body.id])
  })
})
