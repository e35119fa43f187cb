/**
 * The largest stage stays below the quotas of AWS.
 * https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html
 */
import { describe, expect, it } from '@jest/globals'
import { type ExportSetting, MAX_EXPORTS } from '../../lib/settings/export-settings.ts'
import { resourcesOfType, synthesizeStages, type Tree } from './assembly.ts'
import { demo, STAGES } from './stages.ts'

/** As many schedules as the settings allow, with the longest names and with buckets, whose copies need a rule of their own. */
const EXPORTS = Array.from({ length: MAX_EXPORTS }, (_, i): ExportSetting => {
  const name = `schedule-${i}-`.padEnd(40, 'x')
  return { name, schedule: 'cron(0 3 * * ? *)', client: 'etl', sinceLast: true, late: 30, bucket: name.padEnd(63, 'x') }
})

const { largest } = await synthesizeStages({
  largest: {
    ...STAGES.production,
    service: { ...STAGES.production.service, payer: 'http://hl7.org/fhir/sid/us-npi|1234567893' },
    access: 'token',
    originSecret: 2,
    exportLinkKey: 2,
    auditArchiveYears: 6,
    exports: EXPORTS,
    restored: { resources: 'restored-1', state: 'state-1', former: 'made', epoch: 1, instant: '2031-01-01T03:00:00Z' },
  },
})

/** Maximum resources of a stack. CloudFormation allows 500; 60 are reserved for additions. */
const MOST_RESOURCES = 440
const [MOST_OUTPUTS, MOST_TEMPLATE_BYTES] = [200, 1_000_000]

describe.each(['data', 'service', 'operation'] as const)('the %s stack of the largest stage', (name) => {
  const template: Tree = largest[name]

  it(`has at most ${MOST_RESOURCES} resources`, () => expect(Object.keys(template.Resources).length).toBeLessThanOrEqual(MOST_RESOURCES))

  it('has fewer outputs and bytes than CloudFormation allows', () => {
    expect(Object.keys(template.Outputs ?? {}).length).toBeLessThanOrEqual(MOST_OUTPUTS)
    expect(JSON.stringify(template, undefined, 1).length).toBeLessThanOrEqual(MOST_TEMPLATE_BYTES)
  })
})

/** Maximum alarms of a demo and of any stage. An operator has to know all of them. */
const [MOST_DEMO_ALARMS, MOST_ALARMS] = [40, 60]

it('a demo and the largest stage have few alarms', () => {
  const countIn = ({ operation }: typeof largest) => Object.keys(resourcesOfType(operation, 'AWS::CloudWatch::Alarm')).length
  expect(countIn(demo)).toBeLessThanOrEqual(MOST_DEMO_ALARMS)
  expect(countIn(largest)).toBeLessThanOrEqual(MOST_ALARMS)
})

const rules = Object.values(resourcesOfType(largest.operation, 'AWS::Events::Rule'))

it('each schedule is a target of a rule that starts it and of one that restarts it after a restore', () => {
  for (const start of ['Begins the export ', 'Begins exports again ']) {
    const inputs: readonly string[] = rules
      .filter(({ Description }) => Description.startsWith(start))
      .flatMap(({ Targets }) => Targets.map(({ InputTransformer }: Tree) => InputTransformer.InputTemplate))
    expect(inputs.map((input) => /"name":"([^"]+)"/.exec(input)?.[1])).toEqual(EXPORTS.map(({ name }) => name))
  }
})

/** Default quota of rules in the regions with the lowest, and limits of a rule: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html */
const [MOST_RULES, MOST_TARGETS, MOST_INPUT, MOST_DESCRIPTION] = [100, 5, 8_192, 512]

it('all rules together are accepted by every region, and each of them by EventBridge', () => {
  const all = [...rules, ...Object.values(resourcesOfType(largest.service, 'AWS::Events::Rule'))]
  expect(all.length).toBeLessThanOrEqual(MOST_RULES)
  for (const { Targets, Description } of all) {
    expect(Targets.length).toBeLessThanOrEqual(MOST_TARGETS)
    expect(Description.length).toBeLessThanOrEqual(MOST_DESCRIPTION)
    for (const { Input, InputTransformer } of Targets)
      expect((Input ?? InputTransformer.InputTemplate).length).toBeLessThanOrEqual(MOST_INPUT)
  }
})

/** Bytes of a function's policy (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html), and more than a statement has. */
const [MOST_POLICY_BYTES, STATEMENT_BYTES] = [20_480, 1_000]

it('each function has a policy that Lambda accepts', () => {
  const permissions = Map.groupBy(
    [largest.service, largest.operation].flatMap(({ Resources }) =>
      Object.values<Tree>(Resources).filter(({ Type }) => Type === 'AWS::Lambda::Permission'),
    ),
    ({ Properties }) => JSON.stringify(Properties.FunctionName),
  )
  expect(permissions.size).toBeGreaterThan(25)
  for (const some of permissions.values()) expect(some.length * STATEMENT_BYTES).toBeLessThanOrEqual(MOST_POLICY_BYTES)
})
