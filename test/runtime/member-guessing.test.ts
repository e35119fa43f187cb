/** A partner that guesses at members of a stage, on an emulator of its state table. */
import { afterEach, beforeAll, expect, it, jest } from '@jest/globals'
import { makeSecretKey } from '../../lambdas/adapters/dynamodb/rows/secret-key.ts'
import { matchLimitsOfPartners } from '../../lambdas/runtime/aws/export-ports.ts'
import { GUESSING } from '../../lambdas/runtime/aws/log.ts'
import { stateTable } from '../../lambdas/runtime/aws/ports.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { runOnDynamo } from '../fixtures/dynamodb/on-dynamo.ts'
import { sentPerson } from '../partners/guesses/sent-person.ts'

await runOnDynamo((engine) => {
  runAtEnd(() => engine.stop())
  beforeAll(async () => {
    Object.assign(process.env, {
      ...{ FHIR_STATE_TABLE: await engine.newTable(), FHIR_STAGE: 'dev', AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint },
      ...{ AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    })
    await makeSecretKey(stateTable())
  })
  afterEach(() => void jest.restoreAllMocks())

  it('is logged under the watched metric name', async () => {
    const [log, warn] = [jest.spyOn(console, 'log').mockReturnValue(), jest.spyOn(console, 'warn').mockReturnValue()]
    const members = ['1', '2', '3', '4', '5'].map((card) => ({ person: sentPerson(card), isMatched: false }))
    expect(await matchLimitsOfPartners().blockedAmong('c', members)).toEqual([0, 1, 2, 3, 4])
    expect(warn.mock.calls.map(([line]) => JSON.parse(String(line)).message)).toEqual([
      expect.stringMatching(/^MemberGuessing: the partner c /),
    ])
    const [{ _aws, ...line }] = log.mock.calls.map(([text]) => JSON.parse(String(text))) as [{ _aws: unknown }]
    expect(line).toEqual({ Stage: 'dev', Refused: [GUESSING] })
    expect(_aws).toMatchObject({ CloudWatchMetrics: [{ Namespace: 'FHIR', Metrics: [{ Name: 'Refused', Unit: 'None' }] }] })
  })
})
