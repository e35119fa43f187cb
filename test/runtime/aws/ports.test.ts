/** Behavior of every deployed function, regardless of its purpose. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { CachedSearchContexts } from '../../../lambdas/indexing/cached-search-contexts.ts'
import { moveTenantParts } from '../../../lambdas/indexing/lifecycle/shared-index-state.ts'
import type { IndexState } from '../../../lambdas/indexing/lifecycle/state.ts'
import { NO_STATE, NO_STORED_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { type CustomResourceEvent, customResource, DeploymentError } from '../../../lambdas/runtime/aws/custom-resource.ts'
import { logMetric, report } from '../../../lambdas/runtime/aws/log.ts'
import type { CustomMapping } from '../../../lambdas/search/custom-mapping.ts'
import { memoryIndexState, memoryStoredState, servingStateOf } from '../../fixtures/memory-index-state.ts'

let printed: string[] = []
beforeEach(() => {
  printed = []
  for (const method of ['log', 'error'] as const) jest.spyOn(console, method).mockImplementation((line) => void printed.push(String(line)))
})
afterEach(() => void jest.restoreAllMocks())

describe('The log', () => {
  it('contains the class and location of an error, but not its message', () => {
    report(new RangeError('Mrs Sentinel\n    at home has gout'), 'request-1')
    expect(printed).toHaveLength(1)
    expect(JSON.parse(printed[0]!)).toMatchObject({ level: 'error', requestId: 'request-1', name: 'RangeError' })
    expect(JSON.parse(printed[0]!).at[0]).toMatch(/^at .*ports\.test\.ts/)
    expect(printed[0]).not.toMatch(/Sentinel|gout/)
  })

  it('accepts any thrown value', () => {
    for (const thrown of [undefined, null, 'Sentinel', { message: 'Sentinel' }]) report(thrown, 'r')
    expect(printed).toHaveLength(4)
    expect(printed.join()).not.toMatch(/Sentinel/)
  })

  it('contains every value of a metric, at most 100 in a line', () => {
    const values = Array.from({ length: 250 }, (_, n) => 1_000 - n)
    logMetric('IndexLag', 'Milliseconds', values, { stage: 'dev', at: 0 })
    const told = printed.map((line) => JSON.parse(line).IndexLag as readonly number[])
    expect(told.map(({ length }) => length)).toEqual([100, 100, 50])
    expect(told.flat()).toEqual(values)
  })

  it('contains metrics in the embedded format, and no line for a metric without values', () => {
    logMetric('IndexLag', 'Milliseconds', [1, 2], { stage: 'dev', at: 1_700_000_000_000 })
    logMetric('IndexLag', 'Milliseconds', [], { stage: 'dev', at: 1_700_000_000_000 })
    const metrics = [{ Namespace: 'FHIR', Dimensions: [['Stage']], Metrics: [{ Name: 'IndexLag', Unit: 'Milliseconds' }] }]
    expect(printed.map((line) => JSON.parse(line))).toEqual([
      { _aws: { Timestamp: 1_700_000_000_000, CloudWatchMetrics: metrics }, Stage: 'dev', IndexLag: [1, 2] },
    ])
  })
})

describe('A function that is a custom resource of the stack', () => {
  let server: Server
  let answers: { readonly method: string; readonly type: string; readonly body: Record<string, unknown> }[] = []
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
      const body = JSON.parse(Buffer.concat(chunks).toString())
      answers.push({ method: request.method!, type: request.headers['content-type'] ?? '', body })
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  beforeEach(() => {
    answers = []
  })
  afterAll(() => void server.close())

  const event = (RequestType: CustomResourceEvent['RequestType']): CustomResourceEvent => ({
    RequestType,
    ResponseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    StackId: 'stack',
    RequestId: 'request',
    LogicalResourceId: 'Migration',
  })

  it('responds when it is done, and does nothing when the stack is deleted', async () => {
    let runs = 0
    const handle = customResource(async () => void runs++)
    for (const type of ['Create', 'Update', 'Delete'] as const) await handle(event(type))
    expect(runs).toBe(2)
    expect(answers.map(({ method, body }) => [method, body.Status, body.PhysicalResourceId, body.RequestId])).toEqual(
      Array.from({ length: 3 }, () => ['PUT', 'SUCCESS', 'Migration', 'request']),
    )
  })

  it('receives the properties of the template, and returns attributes for other resources', async () => {
    await customResource(async ({ KeyId }) => ({ Pem: `of ${KeyId}` }))({ ...event('Create'), ResourceProperties: { KeyId: 'k1' } })
    await customResource(async (_, before) => before)({ ...event('Update'), OldResourceProperties: { KeyId: 'k0' } })
    expect(answers.map(({ body }) => body)).toMatchObject([
      { Status: 'SUCCESS', Data: { Pem: 'of k1' } },
      { Status: 'SUCCESS', Data: { KeyId: 'k0' } },
    ])
  })

  it('responds even if it fails, so that the deployment does not hang', async () => {
    await customResource(() => Promise.reject(new TypeError('Sentinel')))(event('Create'))
    expect(answers[0]!.body).toMatchObject({ Status: 'FAILED', Reason: 'TypeError: see the log of the function' })
  })

  it('reports the message of a DeploymentError to the operator', async () => {
    await customResource(() => Promise.reject(new DeploymentError('The table x has other keys')))(event('Create'))
    expect(answers[0]!.body).toMatchObject({ Status: 'FAILED', Reason: 'The table x has other keys' })
  })
})

const MAPPING: CustomMapping = {
  tenant: 'a',
  base: 'Patient',
  field: 'x~1',
  code: 'x',
  type: 'token',
  url: 'u',
  expression: 'Patient.id',
  values: [],
} as never
const DEFINITION = { tenant: 'a', id: 'x', state: 'active', mapping: MAPPING } as const

it('definitions are read again after ten seconds, not for each request', async () => {
  let reads = 0
  const definition = { tenant: 'a', id: 'x', state: 'active', mapping: { base: 'Patient', code: 'x' } }
  const defined = { ...NO_STATE, definitions: [definition] } as unknown as IndexState
  const read = async () => ({ value: ++reads > 1 ? defined : NO_STATE, stamps: { number: reads, stamps: {} } })
  const known = new CachedSearchContexts({ read, definitionsOf: () => Promise.reject(new Error('there are no rows')) }, { baseUrl: 'b' })
  await Promise.all([known.refresh(0), known.refresh(0)])
  for (const at of [0, 1, 9_999]) await known.refresh(at)
  expect([reads, known.now('a')]).toEqual([1, { baseUrl: 'b' }])
  await known.refresh(10_000)
  expect([reads, known.now('a'), known.now('b')]).toEqual([2, { baseUrl: 'b', custom: [definition.mapping] }, { baseUrl: 'b' }])
  expect(known.now('a')).toBe(known.now('a'))
})

it('definitions that move to rows during a request stay usable for it', async () => {
  const stored = memoryStoredState()
  const state = memoryIndexState(stored)
  await state.change((each) => ({ ...each, definitions: [DEFINITION] }))
  const known = new CachedSearchContexts(servingStateOf(stored), { baseUrl: 'b' })
  await known.refresh(0)
  await known.load('a')
  await state.change((each) => ({ ...each, rows: true }))
  await moveTenantParts(state)
  expect((await known.state(10_000)).definitions).toEqual([])
  expect(known.now('a')).toEqual({ baseUrl: 'b', custom: [MAPPING] })
  expect(() => known.now('b')).toThrow('were not loaded')
})

it('definitions in rows of tenants are loaded before they are used, and again after a change', async () => {
  const stored = memoryStoredState({ ...NO_STORED_STATE, rows: true })
  const state = memoryIndexState(stored)
  const define = (code: string) =>
    state.change((each) => ({ ...each, definitions: [...each.definitions, { ...DEFINITION, id: code }] }), { definitions: ['a'] })
  await define('x')
  const known = new CachedSearchContexts(servingStateOf(stored), { baseUrl: 'b' })
  await known.refresh(0)
  expect(() => known.now('a')).toThrow('were not loaded')
  expect(known.now('')).toEqual({ baseUrl: 'b' })
  await known.load('a')
  expect(known.now('a').custom).toHaveLength(1)
  await define('y')
  expect((await known.of('a', 9_999)).custom).toHaveLength(1)
  expect((await known.of('a', 10_000)).custom).toHaveLength(2)
  expect(await known.of('b', 10_000)).toEqual({ baseUrl: 'b' })
})
