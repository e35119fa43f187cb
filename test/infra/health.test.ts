/** The function that answers `GET /health` in every stage: its permissions and its resources. */
import { describe, expect, it } from '@jest/globals'
import { MAX_HEARTBEAT_AGE_MS } from '../../lambdas/ports/search/heartbeat.ts'
import { functionsOf, resourcesOfType } from './assembly.ts'
import { ARNS, type IamCall, type IamContext, isFunctionAllowed } from './iam.ts'
import { demo, signed, stageEntries, tokens } from './stages.ts'

/** Most resources that the health may add to a template, which CloudFormation limits to 500. */
const MAX_RESOURCES = 9

const partition = (key: string): IamContext => ({ 'dynamodb:LeadingKeys': [key] })
const via = (service: string): IamContext => ({ 'kms:ViaService': `${service}.us-east-1.amazonaws.com` })

describe.each(stageEntries)('a stage: %s', (_, { service }) => {
  it('has the function, with few resources', () => {
    expect(Object.keys(functionsOf(service))).toContain('health')
    expect(Object.keys(service.Resources).filter((id) => /health/i.test(id)).length).toBeLessThanOrEqual(MAX_RESOURCES)
  })
})

describe.each([
  ['signatures', signed],
  ['tokens', tokens],
])('the function of a stage with %s', (_, { service }) => {
  const isAllowed = (call: IamCall): boolean => isFunctionAllowed(service, 'health', call)

  it('may read the heartbeats and the state of the indices', () => {
    for (const [resource, key] of [
      [ARNS.ResourceTable, '#PULSE#0'],
      [ARNS.StateTable, 'PULSE'],
      [ARNS.StateTable, 'DEFINITIONS'],
    ] as const)
      expect([key, isAllowed({ action: 'dynamodb:GetItem', resource, context: partition(key) })]).toEqual([key, true])
    expect(isAllowed({ action: 'kms:Decrypt', resource: ARNS.Key, context: via('dynamodb') })).toBe(true)
  })

  it('may read no resource and no credential, and write nothing but its log', () => {
    const calls: readonly IamCall[] = [
      { action: 'dynamodb:GetItem', resource: ARNS.ResourceTable, context: partition('default#Patient#a') },
      { action: 'dynamodb:Query', resource: `${ARNS.ResourceTable}/index/gsi1`, context: partition('#PULSE#0') },
      { action: 'dynamodb:PutItem', resource: ARNS.ResourceTable, context: partition('#PULSE#0') },
      { action: 'dynamodb:PutItem', resource: ARNS.StateTable, context: partition('PULSE') },
      ...['CLIENTS', 'USERS', 'SEAL', 'SIGNING_KEYS', 'REVOKED#x', 'GRANT#x', 'AUDIT#x'].map((key) => ({
        ...{ action: 'dynamodb:GetItem', resource: ARNS.StateTable, context: partition(key) },
      })),
      { action: 's3:GetObject', resource: `${ARNS.DataBucket}/bodies/x` },
      { action: 'es:ESHttpPost', resource: `${ARNS.SearchDomain}/fhir-patient-v1/_search` },
    ]
    for (const call of calls) expect([call, isAllowed(call)]).toEqual([call, false])
  })
})

it('a stage is not ready once the alarm Pulse is raised', () => {
  const { Threshold } = Object.values(resourcesOfType(demo.operation, 'AWS::CloudWatch::Alarm')).find(
    ({ MetricName }) => MetricName === 'PulseAge',
  )!
  expect(Threshold).toBe(MAX_HEARTBEAT_AGE_MS)
})
