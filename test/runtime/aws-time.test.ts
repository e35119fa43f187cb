/**
 * A function whose time runs out, as Lambda tells it: it answers, has its record written, and what goes on behind that sends nothing any more,
 * also when the process is woken again.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals'
import { readingSteps } from '../../lambdas/http/pipelines/reading.ts'
import type { FhirResponse } from '../../lambdas/interactions/interaction.ts'
import { atEnd } from '../fixtures/at-end.ts'
import { patientOf, writeOf } from '../fixtures/versions.ts'

type Call = { readonly operation: string; readonly body: { readonly Item?: Readonly<Record<string, object>> } }

/** What DynamoDB was asked. */
let calls: Call[] = []
const told: string[] = []

const modules = async () => ({
  ...(await import('../../lambdas/runtime/aws.ts')),
  ...(await import('../../lambdas/runtime/aws-handler.ts')),
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
  atEnd(() => server.closeAllConnections())
  atEnd(() => server.close())
  Object.assign(process.env, {
    ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x', FHIR_ACCESS: 'iam', FHIR_BUCKET: 'bucket' },
    ...{ FHIR_BASE_URL: 'https://example.org/fhir', FHIR_TABLE: 'resources', FHIR_STATE_TABLE: 'state', FHIR_AUDIT_DURABILITY: 'strict' },
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
/** What of it a request may take. */
const WORK_TIME = 24_000

/** As API Gateway asks, of a function that has so many milliseconds; `passes`: so many go by once the work has begun. */
async function asked(work: () => Promise<FhirResponse>, passes = 0, time: number | undefined = FUNCTION_TIME) {
  const begun = async () => {
    const answer = work()
    jest.advanceTimersByTime(passes)
    return answer
  }
  const handler = aws.httpHandler({ interactions: { read: begun }, steps: readingSteps(aws.stepParts()) })
  const { statusCode, headers, body } = await handler(EVENT, { getRemainingTimeInMillis: () => time })
  return { status: statusCode, retryAfter: headers['retry-after'], issue: statusCode < 300 ? undefined : JSON.parse(body).issue[0] }
}

const records = () => calls.flatMap(({ operation, body: { Item } }) => (operation === 'PutItem' ? [Item] : []))
const FOUND: FhirResponse = { status: 200, headers: {}, body: new TextEncoder().encode('{}') }
const never = () => new Promise<never>(() => undefined)

it('answers what takes too long with 504 and when to come back, and records it', async () => {
  expect(await asked(never, WORK_TIME)).toMatchObject({ status: 504, retryAfter: '5', issue: { severity: 'error', code: 'timeout' } })
  expect(records()).toEqual([expect.objectContaining({ status: { N: '504' }, key: { S: 'Patient/1' }, interaction: { S: 'read' } })])
  expect(told.map((line) => JSON.parse(line))).toEqual([expect.objectContaining({ level: 'error', at: expect.anything() })])
})

it('answers as ever what has time', async () => {
  const slow = Promise.withResolvers<FhirResponse>()
  setTimeout(() => slow.resolve(FOUND), WORK_TIME - 1)
  expect((await asked(() => slow.promise, WORK_TIME - 1)).status).toBe(200)
  expect(records()).toEqual([expect.objectContaining({ status: { N: '200' } })])
})

it('sends nothing of what goes on behind its answer, and of the next request all', async () => {
  const woken = Promise.withResolvers<void>()
  const outcomes: string[] = []
  const tell = (what: string) => (work: Promise<unknown>) =>
    work.then(
      () => outcomes.push(`${what} done`),
      (error: Error) => outcomes.push(`${what} ${error.constructor.name}`),
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
    await tell('store')(aws.store().commit([writeOf(patientOf('1'))], []))
    return never()
  }
  expect((await asked(lateWork, WORK_TIME)).status).toBe(504)
  calls = []
  const next = async () => {
    woken.resolve()
    while (outcomes.length < 3) await setImmediate()
    expect(calls).toEqual([])
    await aws.stateTable().get(key)
    return FOUND
  }
  expect((await asked(next)).status).toBe(200)
  expect(outcomes).toEqual(['state Overloaded', 'for longer Overloaded', 'store Overloaded'])
  expect(calls.map(({ operation }) => operation)).toEqual(['GetItem', 'PutItem'])
})

it('has time left for a record when the work has none', async () => {
  const refused = async () => {
    await aws.stateTable().get({ pk: 'a', sk: 'b' })
    return FOUND
  }
  expect((await asked(refused, 0, FUNCTION_TIME - WORK_TIME)).status).toBe(504)
  expect(calls.map(({ operation }) => operation)).toEqual(['PutItem'])
})
