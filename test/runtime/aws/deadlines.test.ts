/**
 * A function whose time runs out, by the remaining time that Lambda reports: it answers and writes its audit record. Work that continues after the
 * response sends nothing, even if Lambda resumes the process.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { entryRunner } from '../../../lambdas/http/entry-runner.ts'
import { readingSteps } from '../../../lambdas/http/pipelines/reading.ts'
import { searchingSteps } from '../../../lambdas/http/pipelines/searching.ts'
import { type WritingStepParts, writingSteps } from '../../../lambdas/http/pipelines/writing.ts'
import { bundle } from '../../../lambdas/interactions/bundle/bundle.ts'
import type { FhirRequest, FhirResponse } from '../../../lambdas/interactions/interaction.ts'
import type { WritePorts } from '../../../lambdas/interactions/writing/write-loop.ts'
import type { MachineFault } from '../../../lambdas/ports/faults.ts'
import { runAtEnd } from '../../fixtures/at-end.ts'
import { waitMs } from '../../fixtures/delays.ts'
import { waitTurns } from '../../fixtures/turns.ts'
import { patientKeyOf, writeOf } from '../../fixtures/versions.ts'

type Call = { readonly operation: string; readonly body: { readonly Item?: Readonly<Record<string, object>> } }

/** The calls that DynamoDB received. */
let calls: Call[] = []
const told: string[] = []

const modules = async () => ({
  ...(await import('../../../lambdas/runtime/aws/ports.ts')),
  ...(await import('../../../lambdas/runtime/aws/http-handler.ts')),
  ...(await import('../../../lambdas/runtime/aws/deadlines.ts')),
})
let aws: Awaited<ReturnType<typeof modules>>

beforeAll(async () => {
  for (const method of ['log', 'error'] as const) jest.spyOn(console, method).mockImplementation((line) => void told.push(String(line)))
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as Call['body']
    calls.push({ operation: String(request.headers['x-amz-target']).split('.')[1]!, body })
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  runAtEnd(() => server.closeAllConnections())
  runAtEnd(() => server.close())
  Object.assign(process.env, {
    ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x', FHIR_ACCESS: 'iam', FHIR_BUCKET: 'bucket' },
    ...{ FHIR_BASE_URL: 'https://example.org/fhir', FHIR_TABLE: 'resources', FHIR_STATE_TABLE: 'state', FHIR_AUDIT_DURABILITY: 'strict' },
    FHIR_REQUEST_LOG: 'on',
    AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  })
  aws = await modules()
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate'] })
})
afterAll(() => void jest.useRealTimers())
beforeEach(() => {
  calls = []
  told.length = 0
})

const EVENT = {
  ...{ httpMethod: 'GET', resource: '/{type}/{id}', pathParameters: { type: 'Patient', id: '1' } },
  requestContext: { identity: { userArn: 'arn:aws:iam::000000000000:user/a' } },
}
const FUNCTION_TIME = 29_000
/** The part of it that a request may use, in milliseconds. */
const WORK_TIME = 24_000

const contextOf = (time: number) => ({ getRemainingTimeInMillis: () => time })

/** Sends a request as API Gateway does. `time`: milliseconds that the function has. `passes`: milliseconds that pass once the work has begun. */
async function asked(work: () => Promise<FhirResponse>, passes = 0, time = FUNCTION_TIME) {
  const begun = async () => {
    const answer = work()
    jest.advanceTimersByTime(passes)
    return answer
  }
  const handler = aws.httpHandler<'read'>({ interactions: { read: begun }, steps: readingSteps(aws.stepParts()) })
  const { statusCode, headers, body } = await handler(EVENT, contextOf(time))
  return { status: statusCode, retryAfter: headers['retry-after'], issue: statusCode < 300 ? undefined : JSON.parse(body).issue[0] }
}

const records = () => calls.flatMap(({ operation, body: { Item } }) => (operation === 'PutItem' ? [Item] : []))
const TIMES = { duration: expect.any(Number), own: expect.any(Number) }
const logged = (level: string) => told.map((line) => JSON.parse(line)).filter((each) => each.level === level)
const FOUND: FhirResponse = { status: 200, headers: {}, body: new TextEncoder().encode('{}') }
const never = () => new Promise<never>(() => undefined)

it('answers a request that takes too long with 504 and Retry-After, and records it', async () => {
  expect(await asked(never, WORK_TIME)).toMatchObject({ status: 504, retryAfter: '5', issue: { severity: 'error', code: 'timeout' } })
  expect(records()).toEqual([expect.objectContaining({ status: { N: '504' }, key: { S: 'Patient/1' }, interaction: { S: 'read' } })])
  expect(logged('error')).toEqual([expect.objectContaining({ at: expect.anything() })])
})

it('logs a request with the times of its calls, without the name of the resource', async () => {
  expect((await asked(async () => FOUND)).status).toBe(200)
  const [record, ...others] = logged('info')
  expect(others).toEqual([])
  const request = { interaction: 'read', type: 'Patient', status: 200, bytes: 2, calls: { dynamodb: expect.any(Number) } }
  expect(record).toEqual({ ...request, ...{ level: 'info', at: expect.any(String), requestId: expect.any(String) }, ...TIMES })
  expect(told.join()).not.toContain('Patient/1')
})

it('answers a request that ends just in time', async () => {
  const slow = Promise.withResolvers<FhirResponse>()
  void waitMs(WORK_TIME - 1).then(() => slow.resolve(FOUND))
  expect((await asked(() => slow.promise, WORK_TIME - 1)).status).toBe(200)
  expect(records()).toEqual([expect.objectContaining({ status: { N: '200' } })])
})

it('lets a request run longer if its function has more time, and records it', async () => {
  const slow = Promise.withResolvers<FhirResponse>()
  void waitMs(2 * FUNCTION_TIME).then(() => slow.resolve(FOUND))
  expect((await asked(() => slow.promise, 2 * FUNCTION_TIME, 3 * FUNCTION_TIME)).status).toBe(200)
  expect(records()).toEqual([expect.objectContaining({ status: { N: '200' } })])
})

it('sends nothing for work after its response, and everything for the next request', async () => {
  const woken = Promise.withResolvers<void>()
  const outcomes: string[] = []
  const tell = (what: string) => (work: Promise<unknown>) =>
    work.then(
      () => outcomes.push(`${what} done`),
      (error: MachineFault) => outcomes.push(`${what} ${error.fault}`),
    )
  const key = { pk: 'a', sk: 'b' }
  const lateWork = async () => {
    await woken.promise
    await tell('state')(aws.stateTable().get(key))
    await tell('for longer')(
      aws
        .stateTable()
        .until(Number.POSITIVE_INFINITY, () => Date.now())
        .get(key),
    )
    await tell('store')(aws.store().commit([writeOf(patientKeyOf('1'))], []))
    return never()
  }
  expect((await asked(lateWork, WORK_TIME)).status).toBe(504)
  calls = []
  const next = async () => {
    woken.resolve()
    while (outcomes.length < 3) await waitTurns(1)
    expect(calls).toEqual([])
    await aws.stateTable().get(key)
    return FOUND
  }
  expect((await asked(next)).status).toBe(200)
  expect(outcomes).toEqual(['state overloaded', 'for longer overloaded', 'store overloaded'])
  expect(calls.map(({ operation }) => operation)).toEqual(['GetItem', 'PutItem'])
})

it('writes the audit record even if the work has no time left', async () => {
  const refused = async () => {
    await aws.stateTable().get({ pk: 'a', sk: 'b' })
    return FOUND
  }
  expect((await asked(refused, 0, FUNCTION_TIME - WORK_TIME)).status).toBe(504)
  expect(calls.map(({ operation }) => operation)).toEqual(['PutItem'])
})

describe('A batch', () => {
  /** Entries end earlier than the whole batch, so that it can still be answered. */
  const ENTRIES_TIME = WORK_TIME - 1_000
  /** All concurrent entries but one, so that the others run one after the other. */
  const UNDER_WAY = 31
  const stepsOfBundles = () => {
    const parts: WritingStepParts = {
      ...aws.stepParts(),
      writes: 'on',
      maxBody: 1_000_000,
      tokens: {
        seal: { seal: () => 'token', open: () => undefined, digest: () => 'digest' },
        clock: aws.clock(),
        consistency: 'eventual',
        index: { caughtUp: async () => true },
        blobs: { get: async () => undefined, put: async () => undefined },
        tokensOf: () => [],
      },
    }
    return { ...writingSteps(parts), ...searchingSteps(parts) }
  }

  /** Sends a batch of `count` updates. The first ones never end. The update `last` ends when the time of the entries is over. */
  async function answers(count: number, last: number) {
    const update = async ({ id = '' }: FhirRequest): Promise<FhirResponse> => {
      if (Number(id) < UNDER_WAY) return never()
      if (Number(id) === last) jest.advanceTimersByTime(ENTRIES_TIME)
      return { status: 200, written: [{ tenant: 'default', type: 'Patient', id, versionId: 1, about: [] }] }
    }
    const steps = stepsOfBundles()
    const ports = { clock: aws.clock(), choices: { maxTransactionEntries: 100 } } as unknown as WritePorts
    const perform = entryRunner({ update }, steps, (error) => void told.push(String(error)), aws.withEntryDeadline)
    const handler = aws.httpHandler<'bundle'>({ interactions: { bundle: bundle(ports, perform) }, steps })
    const entry = Array.from({ length: count }, (_, i) => ({
      resource: { resourceType: 'Patient', id: `${i}` },
      request: { method: 'PUT', url: `Patient/${i}` },
    }))
    const body = JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry })
    const headers = { 'Content-Type': ['application/fhir+json'] }
    const event = { ...EVENT, httpMethod: 'POST', resource: '/', pathParameters: null, multiValueHeaders: headers, body }
    const { statusCode, headers: answered, body: answer } = await handler(event, contextOf(FUNCTION_TIME))
    const entries: readonly { readonly response: { readonly status: string; readonly outcome?: { readonly issue: readonly object[] } } }[] =
      JSON.parse(answer).entry
    return { status: statusCode, retryAfter: answered['retry-after'], entries: entries.map(({ response }) => response) }
  }
  it('is answered in time, and distinguishes completed, uncertain and not started entries', async () => {
    const { status, retryAfter, entries } = await answers(36, 33)
    const statuses = entries.map((each) => each.status.slice(0, 3))
    expect([status, retryAfter, statuses]).toEqual([200, '5', [...Array(UNDER_WAY).fill('504'), '200', '200', '504', '503', '503']])
    const issueOf = (index: number, code: string) => [expect.objectContaining({ code, expression: [`Bundle.entry[${index}]`] })]
    expect([0, 34].map((index) => entries[index]!.outcome!.issue)).toEqual([issueOf(0, 'timeout'), issueOf(34, 'throttled')])
    expect(told.filter((line) => !line.startsWith('{"level":"info"'))).toEqual(
      Array(UNDER_WAY + 1).fill(expect.stringContaining('longer than its function has time')),
    )
    expect(records()).toEqual([expect.objectContaining({ status: { N: '200' }, interaction: { S: 'bundle' } })])
    expect(JSON.stringify(records()[0]!.keys).match(/Patient\/\d+/g)).toEqual(['Patient/31', 'Patient/32'])
  })

  it('starts an entry only while four seconds are left, and always outside of Lambda', async () => {
    const begun = (passes: number) =>
      aws.runWithLambdaDeadline(contextOf(FUNCTION_TIME), async () => {
        jest.advanceTimersByTime(passes)
        return aws.withEntryDeadline(async () => 'begun')
      })
    expect(await begun(WORK_TIME - 4_000)).toBe('begun')
    await expect(begun(WORK_TIME - 3_999)).rejects.toMatchObject({ fault: 'not-begun' })
    expect(await aws.withEntryDeadline(async () => 'begun')).toBe('begun')
  })
})

it('logs a record that has no time left, and writes it with the next request', async () => {
  expect((await asked(never, FUNCTION_TIME - 2_400)).status).toBe(503)
  expect(calls).toEqual([])
  const late = told.flatMap((line) => JSON.parse(line).unwritten ?? [])
  expect(late).toEqual([expect.objectContaining({ status: 504, key: 'Patient/1' })])
  expect((await asked(async () => FOUND)).status).toBe(200)
  expect(records().map((record) => record?.status)).toEqual([{ N: '504' }, { N: '200' }])
})
