/** Canonical URLs in DynamoDB, on an emulator. */
import { randomUUID } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { DynamoDbCanonicals } from '../../../lambdas/adapters/dynamodb/store/canonicals.ts'
import { DynamoDbResourceStore } from '../../../lambdas/adapters/dynamodb/store/resource-store.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { FilesystemBlobStore } from '../../../lambdas/adapters/filesystem/blob-store.ts'
import { SystemClock } from '../../../lambdas/adapters/in-process/system-clock.ts'
import { announcedCanonicalsOf, announcingWriter } from '../../../lambdas/interactions/writing/canonical-announcements.ts'
import type { Write } from '../../../lambdas/ports/store/resource-store.ts'
import { canonicalsContract, collectPages } from '../../contracts/canonicals.contract.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { type ClientCall, type ClientFault, withFaults } from '../../fixtures/dynamodb/faults.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'

const LIMITS = { attempts: 8, patience: 60_000 }

await runOnDynamo((engine) => {
  const create = async ({ keptFor = 0, seen = (_: ClientCall): ClientFault | undefined => undefined, now = () => Date.now() } = {}) => {
    const table = await engine.newTable()
    const system = new SystemClock()
    const reported: unknown[] = []
    const clock = { now, newId: () => system.newId() }
    const store = new DynamoDbResourceStore({
      ...{ client: withFaults(engine.client, seen), table, blobs: new FilesystemBlobStore(newFolder()), clock, patience: 60_000 },
      ...{ stampTime: Number.POSITIVE_INFINITY, settleTime: 0 },
    })
    const canonicals = new DynamoDbCanonicals({ dynamo: new TableClient(withFaults(engine.client, seen), table, LIMITS), clock, keptFor })
    return {
      canonicals,
      plain: store,
      store: {
        ...announcingWriter({ writer: store, resources: store, notes: canonicals, report: (error) => reported.push(error) }),
        current: store.current.bind(store),
      },
      reported,
      dynamo: new TableClient(engine.client, table, LIMITS),
    }
  }
  canonicalsContract('DynamoDB', async () => ({ ...(await create()), close: () => engine.stop() }))

  const url = 'http://example.org/a'
  const valueSet = (id: string): Write => ({
    ...{ tenant: 't', type: 'ValueSet', id, expected: 0, lastUpdated: 1_000, deleted: false, compartments: [] },
    body: Buffer.from(JSON.stringify({ resourceType: 'ValueSet', url })),
  })

  it('Canonical URLs are read consistently and are written before the commit, which may fail', async () => {
    const calls: string[] = []
    const { canonicals, store } = await create({
      seen({ name, text }) {
        const isOne = text.includes('#CANONICAL#')
        calls.push(`${name}${isOne ? ' canonical' : ''}${name === 'Query' ? ` ${text.includes('"ConsistentRead":true')}` : ''}`)
        return undefined
      },
    })
    await store.commit([valueSet('H')], [])
    expect(calls.indexOf('BatchWrite canonical')).toBeLessThan(calls.indexOf('Put'))
    calls.length = 0
    await collectPages(canonicals.carrying('t', 'ValueSet', url))
    await canonicals.state('t')
    expect(calls).toEqual(['Query canonical true', 'Query true'])
    await canonicals.announce([{ tenant: 't', type: 'ValueSet', id: 'lost', url }])
    const [page = []] = await collectPages(canonicals.carrying('t', 'ValueSet', url))
    expect(page.map(({ id }) => id)).toEqual(['H', 'lost'])
    expect(await store.current([{ tenant: 't', type: 'ValueSet', id: 'lost' }])).toEqual([undefined])
  })

  it('Canonical URLs of earlier writes are found after they are announced from the store', async () => {
    const { canonicals, plain } = await create()
    await plain.commit([valueSet('a')], [])
    await plain.commit([{ ...valueSet('b'), type: 'Basic' }], [])
    expect(await collectPages(canonicals.carrying('t', 'ValueSet', url))).toEqual([])
    const pages = [...(await collectPages(plain.scan({ tenant: 't', type: 'ValueSet', asOf: Date.now(), limit: 10 })))]
    await canonicals.announce(await announcedCanonicalsOf(pages.flatMap(({ versions }) => versions)))
    expect(await collectPages(canonicals.carrying('t', 'ValueSet', url))).toEqual([[{ tenant: 't', type: 'ValueSet', id: 'a' }]])
  })

  const ids = async (canonicals: DynamoDbCanonicals, of = url) =>
    (await collectPages(canonicals.carrying('t', 'ValueSet', of))).flat().map(({ id }) => id)
  const update = (id: string, expected: number, of: string | undefined): Write => ({
    ...{ ...valueSet(id), expected, lastUpdated: 1_000 + expected, deleted: of === undefined },
    body: of === undefined ? new Uint8Array() : Buffer.from(JSON.stringify({ resourceType: 'ValueSet', url: of })),
  })

  it('Canonical URLs are removed when a commit changes or deletes them, and stay otherwise', async () => {
    const { canonicals, store, reported } = await create()
    await store.commit(['a', 'b', 'c', 'd'].map(valueSet), [])
    await store.commit([update('a', 1, `${url}/other`), update('b', 1, undefined), update('c', 1, url)], [])
    expect([await ids(canonicals), await ids(canonicals, `${url}/other`)]).toEqual([['c', 'd'], ['a']])
    await store.commit([update('a', 2, url)], [])
    await store.commit([update('b', 2, url)], [])
    expect([await ids(canonicals), await ids(canonicals, `${url}/other`), reported]).toEqual([['a', 'b', 'c', 'd'], [], []])
  })

  it('Canonical URLs are neither read nor removed for new definitions and unchanged URLs', async () => {
    const calls: string[] = []
    const seen = ({ name, text }: ClientCall) => {
      if (text.includes('#CANONICAL#')) calls.push(name)
      return undefined
    }
    const { canonicals, store } = await create({ seen })
    await store.commit([valueSet('a')], [])
    await store.commit([update('a', 1, url)], [])
    expect(calls).toEqual(['Put', 'Put'])
    expect(await ids(canonicals)).toEqual(['a'])
  })

  it('Canonical URLs stay if the commit fails or another writer announces them meanwhile', async () => {
    const { canonicals, store, plain } = await create()
    await store.commit([valueSet('a'), valueSet('b')], [])
    expect((await store.commit([update('a', 7, undefined)], [])).kind).not.toBe('committed')
    expect(await ids(canonicals)).toEqual(['a', 'b'])
    const [a, b] = ['a', 'b'].map((id) => ({ tenant: 't', type: 'ValueSet' as const, id, url }))
    const noted = await canonicals.noted([a!, b!])
    await canonicals.announce([a!])
    await canonicals.forget(noted)
    expect(await ids(canonicals)).toEqual(['a'])
    const slow = announcingWriter({
      writer: { commit: (...args) => canonicals.announce([a!]).then(() => plain.commit(...args)) },
      ...{ resources: plain, notes: canonicals, report: () => undefined },
    })
    expect(await slow.commit([update('a', 1, undefined)], [])).toEqual({ kind: 'committed' })
    expect(await ids(canonicals)).toEqual(['a'])
  })

  it('Canonical URLs without a mark are removed; a failure is reported and keeps the commit', async () => {
    const refused = new Error('refused')
    let isRefused = true
    let partition = ''
    const seen = ({ name, text }: ClientCall): ClientFault | undefined => {
      partition ||= /"pk":"([^"]*#CANONICAL#[^"]*)"/.exec(text)?.[1] ?? ''
      return isRefused && name === 'Delete' ? { instead: () => Promise.reject(refused) } : undefined
    }
    const { canonicals, store, dynamo, reported } = await create({ seen })
    await store.commit([valueSet('a'), valueSet('b')], [])
    for await (const { pk, sk } of dynamo.query({ KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': partition } }))
      await dynamo.putAll([{ pk, sk }])
    expect(await store.commit([update('a', 1, undefined)], [])).toEqual({ kind: 'committed' })
    expect([await ids(canonicals), reported]).toEqual([['a', 'b'], [refused]])
    isRefused = false
    expect(await store.commit([update('b', 1, undefined)], [])).toEqual({ kind: 'committed' })
    expect(await ids(canonicals)).toEqual(['a'])
  })

  it('The state of canonical URLs is cached for the configured time', async () => {
    let now = 1_000
    const { canonicals, store } = await create({ keptFor: 10_000, now: () => now })
    const tenant = randomUUID()
    expect(await canonicals.state(tenant)).toBe('')
    await store.commit([{ ...valueSet('a'), tenant }], [])
    now += 9_999
    expect(await canonicals.state(tenant)).toBe('')
    now += 1
    const first = await canonicals.state(tenant)
    now += 9_999
    expect([first === '', await canonicals.state(tenant)]).toEqual([false, first])
    now += 1
    expect(await canonicals.state(tenant)).not.toBe(first)
  })
})
