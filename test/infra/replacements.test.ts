/**
 * No change of settings replaces permanent resources: CloudFormation updates them in place, according to its schema of each property.
 * https://www.npmjs.com/package/@aws-cdk/cloudformation-diff
 */
import { expect, it } from '@jest/globals'
import { findReplacements } from '../../lib/deploy/replacement-check.ts'
import type { Settings } from '../../lib/settings/settings.ts'
import { synthesizeStages, type Tree } from './assembly.ts'

/** These settings locate a deployment: another value makes another deployment beside the first. */
type Place = 'stage' | 'account' | 'region'

const VPC = { cidr: '10.0.0.0/16', availabilityZones: ['us-east-1a', 'us-east-1b', 'us-east-1c'] }

const RESTORED = { resources: 'restored-1', epoch: 1, instant: '2031-01-01T03:00:00Z' } as const

/** The value to which each setting is changed from its default. `with`: other settings that it requires. */
const CHANGED: {
  readonly [Name in Exclude<keyof Settings, Place>]-?: { readonly to: Settings[Name]; readonly with?: Partial<Settings> }
} = {
  access: { to: 'iam' },
  originSecret: { to: 2 },
  exportLinkKey: { to: 2 },
  exports: { to: [{ name: 'nightly', schedule: 'rate(1 day)', client: 'etl', level: 'system' }] },
  search: { to: { kind: 'domain', size: 'production' } },
  baseUrl: { to: 'https://fhir.example.org/fhir' },
  customDomain: {
    to: {
      name: 'fhir.example.org',
      certificateArn: 'arn:aws:acm:us-east-1:111111111111:certificate/1',
      hostedZone: { id: 'Z1', name: 'example.org' },
    },
  },
  vpc: { to: VPC },
  capacity: { to: { warm: { reads: 20_000, writes: 8_000 }, most: { reads: 40_000, writes: 20_000 } } },
  logRetentionDays: { to: 30 },
  service: { to: { timeZone: 'Europe/Berlin', exportRetentionDays: 3, maxBodyBytes: 1_000_000 } },
  exportAdditionalResources: { to: {} },
  alarmEmail: { to: 'ops@example.org' },
  auditArchiveYears: { to: 6 },
  backup: { to: { vault: 'arn:aws:backup:us-east-1:222222222222:backup-vault:fhir', days: 35 } },
  budget: { to: 100, with: { alarmEmail: 'ops@example.org' } },
  concurrency: { to: { indexer: 20 } },
  parallelizationFactor: { to: 4 },
  memory: { to: { light: 1024, request: 2048, worker: 3008 } },
  limits: { to: { perAddress: 1_000, perToken: 500, withoutToken: 100, rate: 10, burst: 20 } },
  rebuildWait: { to: 90 },
  rebuildWidth: { to: 16 },
  exportWriters: { to: 10 },
  conditionalVersions: { to: 20_000 },
  keptIndexDays: { to: 0 },
  restored: { to: RESTORED },
}

const NAMES = Object.keys(CHANGED) as (keyof typeof CHANGED)[]
const before = await synthesizeStages({ defaults: {} })
const after = await synthesizeStages(
  Object.fromEntries(NAMES.map((name) => [name, { ...CHANGED[name].with, [name]: CHANGED[name].to }])) as Record<
    keyof typeof CHANGED,
    Partial<Settings>
  >,
)

/** A domain cannot move into a network, so that is decided before the first deployment. */
const DECIDED_ONCE: Readonly<Record<string, readonly unknown[]>> = {
  vpc: [expect.stringMatching(/^SearchDomain\w+: cannot move into a VPC$/)],
}

it.each(NAMES)('a change of the setting %s replaces no permanent resource', (name) => {
  const { data, service } = before.defaults
  const lost = [...findReplacements(data, after[name].data), ...findReplacements(service, after[name].service)]
  expect(lost).toEqual(DECIDED_ONCE[name] ?? [])
})

it('resources that would be replaced are reported', () => {
  const { data } = before.defaults
  expect(findReplacements(data, withOtherKeys(data))).toEqual([
    expect.stringMatching(/^ResourceTable\w+: WILL_REPLACE$/),
    expect.stringMatching(/^StateTable\w+: WILL_REPLACE$/),
  ])
})

/** Returns the template with other names of the keys of both tables, which forces a replacement. */
function withOtherKeys(template: Tree): Tree {
  const changed: Tree = structuredClone(template)
  for (const { Type, Properties } of Object.values<Tree>(changed.Resources))
    if (Type === 'AWS::DynamoDB::GlobalTable') Properties.KeySchema[0].AttributeName = 'other'
  return changed
}
