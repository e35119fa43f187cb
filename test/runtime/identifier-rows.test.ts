/** Identifier rows of the functions on AWS, on an emulator, while no OpenSearch answers: their writers, the stream and conditional writes. */
import { expect, it, jest } from '@jest/globals'
import type { EventValue } from '../../lambdas/adapters/dynamodb/attributes.ts'
import { DynamoDbSharedState } from '../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { HEAD_SORT_KEY, primaryKey } from '../../lambdas/adapters/dynamodb/table-keys.ts'
import { addIndices, withIdentity } from '../../lambdas/indexing/lifecycle/serving-indices.ts'
import type { IndexState } from '../../lambdas/indexing/lifecycle/state.ts'
import { WORKFLOW } from '../../lambdas/indexing/rebuild/workflow.ts'
import { type HeartbeatState, NO_HEARTBEAT } from '../../lambdas/indexing/stream/heartbeat.ts'
import { NO_OP_WRITER } from '../../lambdas/interactions/operations/dry-run.ts'
import { extraction, followHeads, rebuild, reindex } from '../../lambdas/runtime/aws/index-workers.ts'
import { migrate } from '../../lambdas/runtime/aws/migration.ts'
import { clock, identifierRows, indexState, resourceTable, stateTable, store } from '../../lambdas/runtime/aws/ports.ts'
import { portsWithoutWriter, writePorts } from '../../lambdas/runtime/aws/search-index.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { createRequest, runWrite } from '../fixtures/conditional-writes.ts'
import { runOnDynamo } from '../fixtures/dynamodb/on-dynamo.ts'
import { patientKeyOf, writeOf } from '../fixtures/versions.ts'
import { startWorkflowServer } from '../fixtures/workflows.ts'

const HOUR = 60 * 60_000
const DEPLOYED = Date.UTC(2031, 0, 1)

const personOf = (value: string, id?: string) => ({
  resourceType: 'Patient',
  ...(id === undefined ? {} : { id }),
  identifier: [{ system: 'urn:a', value }],
})

await runOnDynamo((engine) => {
  runAtEnd(() => engine.stop())

  const tenant = 'default'
  let now = DEPLOYED
  const rowsOf = async (value: string) =>
    (await identifierRows().carrying({ tenant, type: 'Patient' }, [{ system: 'urn:a', value }], 10)).map(({ key }) => key.id)
  /** Creates as a function of the previous release does, without rows. */
  const createEarlier = async (id: string) => {
    const key = patientKeyOf(id, tenant)
    await store().commit([writeOf(key, { lastUpdated: now, body: personOf(id, id) })], [])
    return { dynamodb: { SequenceNumber: id, NewImage: eventOf((await resourceTable().get({ pk: primaryKey(key), sk: HEAD_SORT_KEY }))!) } }
  }
  const create = (value: string, id: string) =>
    runWrite({ ...writePorts(), profiled: () => [] }, createRequest(tenant, personOf(value, id), `identifier=urn:a|${value}`))
  /** Changes the state as another function does. The cached copy is read again. */
  const changed = async (change: (state: IndexState) => IndexState) => {
    await indexState().change(change)
    now += 10_000
  }

  /** Sends a heartbeat, and the next sweep of the index, once its beats have arrived. */
  const heartbeat = async (at: number) => {
    now = at
    const state = new DynamoDbSharedState<HeartbeatState>(stateTable(), 'PULSE', NO_HEARTBEAT)
    await state.change((before) => ({ ...before, latest: at }))
    await expect(followHeads({ sweep: 'index' })).rejects.toBeDefined()
  }

  it('are added by writers, and by the stream until the deployment has replaced all functions; then no index is needed', async () => {
    const { endpoint } = await startWorkflowServer()
    Object.assign(process.env, {
      ...{ FHIR_TABLE: await engine.newTable(), FHIR_STATE_TABLE: await engine.newTable(), FHIR_BUCKET: 'none' },
      ...{ FHIR_SEARCH_ENDPOINT: 'http://127.0.0.1:9', FHIR_SEARCH_SIGNING: 'none', AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint },
      ...{ FHIR_REBUILD_WORKFLOW: 'arn:aws:states:us-east-1:0:stateMachine:r', AWS_ENDPOINT_URL_SFN: endpoint },
      ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    })
    clock().now = () => now
    jest.spyOn(console, 'error').mockReturnValue()
    const earlier = extraction().replace(/^\d+/, '11')
    await indexState().change((state) => ({ ...addIndices(withIdentity(state, 'one'), ['Patient'], 'one'), extraction: earlier }))
    await migrate({})
    expect((await indexState().read()).value).toMatchObject({ extraction: extraction(), formatAt: DEPLOYED })

    // The index does not answer, so the records are delivered again. Their rows exist nevertheless.
    now += HOUR
    expect((await followHeads({ Records: [await createEarlier('stream')] })).batchItemFailures).toHaveLength(1)
    expect(await rowsOf('stream')).toEqual(['stream'])
    await changed((state) => ({ ...state, types: { Patient: { identity: 'one' } } }))
    await expect(create('stream', 'new')).rejects.toMatchObject({ fault: expect.any(String) })
    await migrate({ UpdatedFunctions: 'yes' })
    expect((await indexState().read()).value).toMatchObject({ formatAt: DEPLOYED, deployedAt: now })
    // Each sweep waits for the index. An earlier heartbeat is in test/indexing/lifecycle/identifier-rows.test.ts.
    await heartbeat(now + HOUR / 4)
    expect((await indexState().read()).value.formatAt).toBeUndefined()
    await followHeads({ Records: [await createEarlier('late')] })
    expect(await rowsOf('late')).toEqual([])
    await changed((state) => ({ ...state, types: { Patient: { identity: 'one', outdated: { extraction: earlier, since: 1 } } } }))

    // The type is still outdated.
    await expect(create('stream', 'new')).rejects.toMatchObject({ fault: expect.any(String) })
    await changed((state) => ({ ...state, types: { Patient: { identity: 'one' } } }))
    expect([await create('stream', 'new'), await create('other', 'other'), await create('other', 'another')]).toEqual([200, 201, 200])
    expect(await rowsOf('other')).toEqual(['other'])
  })

  it('are removed if outdated, but not by a function that only checks a write', async () => {
    await identifierRows().add([{ ...patientKeyOf('gone', tenant), identifiers: [{ system: 'urn:a', value: 'old' }] }])
    now += HOUR + 1
    const checks = { ...portsWithoutWriter(), profiled: () => [], writer: NO_OP_WRITER }
    expect(await runWrite(checks, createRequest(tenant, personOf('old', 'a'), 'identifier=urn:a|old'))).toBe(201)
    expect(await rowsOf('old')).toEqual(['gone'])
    expect([await create('old', 'b'), await rowsOf('old')]).toEqual([201, ['b']])
  })

  it('are added by a rebuild if they may be missing', async () => {
    await createEarlier('stored')
    await changed((state) => ({
      ...state,
      types: { Patient: { identity: 'one', listed: -1 } },
      rebuilds: [{ type: 'Patient', tenant, done: 0, total: -1, inPlace: true, taken: 'a' }],
    }))
    const next = () => rebuild()({ action: 'next', workflow: WORKFLOW, execution: 'e', width: 1 })
    // Planned, and the index chosen.
    expect([await next(), await next()]).toEqual([{ follows: 'next' }, { follows: 'next' }])
    const lane = { execution: 'e', lane: 0, types: [{ type: 'Patient', attempt: 'a' }] }
    expect(await next()).toEqual({ follows: 'fill', lanes: [lane] })
    await expect(rebuild()({ action: 'fill', workflow: WORKFLOW, lane })).rejects.toBeDefined()
    expect(await rowsOf('stored')).toEqual(['stored'])
  })

  it('are completed by $reindex if they may be missing', async () => {
    await changed((state) => ({ ...state, rebuilds: [], types: { Patient: { identity: 'one', listed: -1 } } }))
    await reindex().start(tenant, ['Patient', 'Basic'])
    const { rebuilds } = (await indexState().read()).value
    expect(rebuilds.map(({ type, inPlace }) => [type, inPlace])).toEqual([
      ['Patient', undefined],
      ['Basic', true],
    ])
  })
})

const eventOf = (item: object): Readonly<Record<string, EventValue>> =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, eventValue(value)]))

function eventValue(value: unknown): EventValue {
  if (typeof value === 'string') return { S: value }
  if (typeof value === 'number') return { N: String(value) }
  if (typeof value === 'boolean') return { BOOL: value }
  if (value instanceof Uint8Array) return { B: Buffer.from(value).toString('base64') }
  return { M: eventOf(value as object) }
}
