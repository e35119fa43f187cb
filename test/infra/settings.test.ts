/** Invalid settings of a stage are rejected with their path before anything is created, and are never replaced by the default. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { LOG_RETENTION_DAYS } from '../../lib/settings/setting-checks.ts'
import { DEFAULT_SETTINGS, settingsOf } from '../../lib/settings/settings.ts'

const NETWORK = { cidr: '10.0.0.0/16', availabilityZones: ['us-east-1a', 'us-east-1b', 'us-east-1c'] }
const DOMAIN = {
  name: 'fhir.example.org',
  certificateArn: 'arn:aws:acm:us-east-1:111111111111:certificate/1',
  hostedZone: { id: 'Z0123456789', name: 'example.org' },
}

const VAULT = 'arn:aws:backup:us-east-1:222222222222:backup-vault:fhir'
const PRODUCTION = { search: { kind: 'domain', size: 'production' } } as const

const NODES = { instanceType: 'r7g.xlarge.search', count: 4, disk: 500, zones: 2 }
const TWO_ZONES = { ...NETWORK, availabilityZones: ['us-east-1a', 'us-east-1b'] }
const domain = (rest: object) => ({ search: { kind: 'domain', size: 'production', ...rest } })
const nodes = (rest: object) => domain({ size: { ...NODES, ...rest } })

const VALID: readonly object[] = [
  {},
  DEFAULT_SETTINGS,
  { account: '111111111111', region: 'eu-west-3', alarmEmail: 'ops@example.org' },
  { alarmEmail: 'ops@example.org', budget: 100 },
  { backup: { vault: VAULT, days: 35 } },
  { search: { endpoint: 'https://search.example.org' } },
  { search: { endpoint: 'https://a.example', domainArn: 'arn:aws:es:us-east-1:111111111111:domain/fhir' } },
  { search: { kind: 'domain', size: 'production' }, vpc: NETWORK },
  { search: { kind: 'domain', size: 'large', shards: { Observation: 12 }, replicas: 2 } },
  { search: { kind: 'domain', size: NODES } },
  { search: { kind: 'domain', size: { ...NODES, masters: { instanceType: 'm7g.large.search', count: 3 } } }, vpc: TWO_ZONES },
  { search: { kind: 'domain', size: { ...NODES, zones: 1 } }, vpc: NETWORK },
  { search: { endpoint: 'https://search.example.org', shards: { Observation: 100 }, replicas: 0 } },
  { vpc: { cidr: '10.0.0.0/22', availabilityZones: ['us-east-1a'] } },
  { customDomain: DOMAIN },
  { customDomain: { ...DOMAIN, name: 'example.org' } },
  { capacity: { warm: { reads: 12_000, writes: 4_000, index: { reads: 12_000, writes: 5_000 } } } },
  { capacity: { shards: { Observation: 32, Basic: 1 } } },
  { capacity: { warm: { reads: 12_000, writes: 4_000 } }, limits: { rate: 5 }, memory: { light: 1024 }, concurrency: { read: 0 } },
  ...LOG_RETENTION_DAYS.map((logRetentionDays) => ({ logRetentionDays })),
]

const vpc = (rest: object) => ({ vpc: { ...NETWORK, ...rest } })
const customDomain = (rest: object) => ({ customDomain: { ...DOMAIN, ...rest } })

const SIZES = 'search.size must be "demo", "production", "large" or an object of instanceType, count, disk, zones, masters'

const INVALID: readonly (readonly [object, string])[] = [
  [{ region: 'Frankfurt' }, 'region must be an AWS region'],
  ...[
    ['us-gov-west-1', 'aws-us-gov'],
    ['cn-northwest-1', 'aws-cn'],
    ['us-iso-east-1', 'aws-iso'],
  ].map(
    ([region, partition]) =>
      [
        { region },
        `region ${region} is in the partition ${partition}, which lacks CloudFront features that access tokens and export links require`,
      ] as const,
  ),
  [{ region: 5 }, 'region must be an AWS region'],
  [{ account: 111111111111 }, 'account must be a string of the twelve digits'],
  [{ account: '123' }, 'account must be a string of the twelve digits'],
  [{ search: 'demo' }, 'search must be an object of kind, size, shards, replicas'],
  [{ search: {} }, 'search.kind must be "domain"'],
  [{ search: { kind: 'domains', size: 'demo' } }, 'search.kind must be "domain"'],
  [{ search: { kind: 'domain', size: 'prod' } }, SIZES],
  [{ search: { kind: 'domain' } }, SIZES],
  [domain({ shards: { Observation: 101 } }), 'search.shards.Observation must be a whole number from 1 to 100'],
  [domain({ shards: { Foo: 2 } }), 'search.shards.Foo must be a resource type of R4'],
  [domain({ replicas: 6 }), 'search.replicas must be a whole number from 0 to 5'],
  [domain({ size: {} }), 'search.size.instanceType must be an instance type of OpenSearch, such as r7g.large.search'],
  [nodes({ instanceType: 'r7g.large' }), 'search.size.instanceType must be an instance type of OpenSearch, such as r7g.large.search'],
  [nodes({ count: 0 }), 'search.size.count must be a whole number from 1 on'],
  [nodes({ count: 5 }), 'search.size.count 5 must be a multiple of search.size.zones 2'],
  [nodes({ disk: 5 }), 'search.size.disk must be a whole number from 10 on'],
  [nodes({ zones: 4 }), 'search.size.zones must be a whole number from 1 to 3'],
  [nodes({ masters: { instanceType: 'm7g.large.search', count: 2 } }), 'search.size.masters.count must be 3 or 5'],
  [nodes({ volume: 5 }), 'search.size.volume is not a setting. Accepted: instanceType, count, disk, zones, masters'],
  [{ ...nodes({}), ...vpc({}) }, 'vpc.availabilityZones must be 2 zones, those of the nodes of search.size'],
  [{ search: { endpoint: 'search.example.org' } }, 'search.endpoint must be the https URL'],
  [{ search: { endpoint: 'https://a:b@search.example.org' } }, 'search.endpoint must be the https URL'],
  [{ search: { endpoint: 'https://a.example', domainArn: 'fhir' } }, 'search.domainArn must be the ARN of a domain'],
  [
    { search: { endpoint: 'https://a.example', size: 'demo' } },
    'search.size is not a setting. Accepted: endpoint, domainArn, shards, replicas',
  ],
  [{ logRetentionDays: 45 }, 'logRetentionDays must be one of these numbers of days: 1, 3'],
  [{ logRetentionDays: '90' }, 'logRetentionDays must be one of'],
  [
    { capacity: { warm: { reads: 20_000, writes: 8_000, gsi1: {} } } },
    'capacity.warm.gsi1 is not a setting. Accepted: reads, writes, index, state',
  ],
  [{ capacity: { wram: {} } }, 'capacity.wram is not a setting. Accepted: warm, most, shards'],
  [{ capacity: { warm: { reads: 20_000 } } }, 'capacity.warm.writes must be a whole number from 4000 on'],
  [{ capacity: { warm: { reads: 100, writes: 8_000 } } }, 'capacity.warm.reads must be a whole number from 12000 on'],
  [
    { capacity: { warm: { reads: 20_000, writes: 8_000, state: { reads: 12_000 } } } },
    'capacity.warm.state.writes must be a whole number from 4000 on',
  ],
  [{ capacity: { shards: { Observation: 0 } } }, 'capacity.shards.Observation must be a whole number from 1 to 100'],
  [{ capacity: { shards: { Observations: 4 } } }, 'capacity.shards.Observations must be a resource type of R4'],
  [{ capacity: { most: { reads: 0, writes: 1 } } }, 'capacity.most.reads must be a whole number from 1 on'],
  [{ memory: 512 }, 'memory must be an object of light, request, worker'],
  [{ memory: { lite: 512 } }, 'memory.lite is not a setting'],
  [{ memory: { light: 64 } }, 'memory.light must be a whole number from 128 to 10240'],
  [{ limits: { rat: 1 } }, 'limits.rat is not a setting'],
  [{ limits: { perAddress: 1 } }, 'limits.perAddress must be a whole number from 10 to 2000000000'],
  [{ limits: { perToken: 9 } }, 'limits.perToken must be a whole number from 10 to 2000000000'],
  [{ limits: { withoutToken: 0 } }, 'limits.withoutToken must be a whole number from 10 to 2000000000'],
  [{ limits: { perToken: 100 }, access: 'iam' }, 'limits.perToken requires access "token". With access "iam" clients send no tokens'],
  [{ limits: { withoutToken: 100 }, access: 'open' }, 'limits.withoutToken requires access "token". With access "open"'],
  [{ service: { publicRead: 'system/Patient.rs' } }, 'FHIR_PUBLIC_READ: "system/Patient.rs" would open Patient'],
  [{ service: { publicRead: 'system/Location.rs' }, access: 'iam' }, 'FHIR_PUBLIC_READ requires FHIR_ACCESS "token"'],
  [{ service: { publicReadRate: 5 } }, 'publicReadRate is not possible on AWS'],
  [{ limits: { rate: '500' } }, 'limits.rate must be a whole number from 1 on'],
  [{ concurrency: 5 }, 'concurrency must be an object'],
  [{ concurrency: { read: 1.5 } }, 'concurrency.read must be a whole number from 0 on'],
  [{ concurrency: { reed: 1 } }, 'concurrency.reed is not a function'],
  [{ parallelizationFactor: 11 }, 'parallelizationFactor must be a whole number from 1 to 10'],
  [{ rebuildWait: '60' }, 'rebuildWait must be a whole number from 0 on'],
  [{ rebuildWidth: 0 }, 'rebuildWidth must be a whole number from 1 to 40'],
  [{ exportWriters: 41 }, 'exportWriters must be a whole number from 1 to 40'],
  [{ conditionalVersions: 1_999 }, 'conditionalVersions must be a whole number from 2000 to 20000'],
  [{ keptIndexDays: -1 }, 'keptIndexDays must be a whole number from 0 on'],
  [{ originSecret: '1' }, 'originSecret must be a whole number from 1 on'],
  [{ exportLinkKey: 0 }, 'exportLinkKey must be a whole number from 1 on'],
  [{ auditArchiveYears: 60 }, 'auditArchiveYears must be a whole number from 0 to 30'],
  [{ auditArchiveYears: 0.5 }, 'auditArchiveYears must be a whole number from 0 to 30'],
  [{ alarmEmail: 'nobody' }, 'alarmEmail must be an e-mail address'],
  [{ backup: { vault: 'fhir', days: 35 } }, 'backup.vault must be the ARN of an AWS Backup vault'],
  [{ backup: { vault: VAULT } }, 'backup.days must be a whole number from 1 to 36500'],
  [{ backup: VAULT }, 'backup must be an object of vault, days'],
  [{ backup: { vault: VAULT, days: 35 }, account: '222222222222' }, 'backup.vault is in the account of the stage (222222222222)'],
  [{ budget: '100', alarmEmail: 'ops@example.org' }, 'budget must be a whole number from 1 on'],
  [{ budget: 0, alarmEmail: 'ops@example.org' }, 'budget must be a whole number from 1 on'],
  [{ budget: 100 }, 'budget requires alarmEmail, the address that receives its notifications'],
  [{ service: { timezone: 'UTC' } }, 'service.timezone is not a setting of the server'],
  [{ service: { maxRequests: 5 } }, 'maxRequests is not possible on AWS: a function handles one request at a time'],
  [{ service: { maxBodyBytes: 5_000_001 } }, 'maxBodyBytes must be at most 5000000 on AWS'],
  [{ service: { referentialIntegrity: 'on' } }, 'referentialIntegrity is not possible on AWS: functions write concurrently'],
  [{ service: { externalIssuers: '[]' }, ...vpc({}) }, 'externalIssuers is not possible with vpc'],
  [{ service: null }, 'service must be an object'],
  [vpc({ cidr: '10.0.0.0' }), 'vpc.cidr must be an IPv4 range with a prefix of 16 to 22 bits, such as 10.0.0.0/16'],
  [vpc({ cidr: '999.0.0.0/16' }), 'vpc.cidr must be an IPv4 range with a prefix of 16 to 22 bits, such as 10.0.0.0/16'],
  [vpc({ cidr: '10.0.0.0/16/16' }), 'vpc.cidr must be an IPv4 range with a prefix of 16 to 22 bits, such as 10.0.0.0/16'],
  [vpc({ cidr: '10.0.0.0/22' }), 'vpc.cidr 10.0.0.0/22 is too small: it has subnets for 1 of 3 zones'],
  [vpc({ availabilityZones: [] }), 'vpc.availabilityZones must be a list of different availability zones'],
  [vpc({ availabilityZones: 'us-east-1a' }), 'vpc.availabilityZones must be a list of different availability zones'],
  [{ ...vpc({}), region: 'eu-central-1' }, 'vpc.availabilityZones: us-east-1a is not a zone of eu-central-1, such as eu-central-1a'],
  [
    { search: { kind: 'domain', size: 'production' }, ...vpc({ availabilityZones: ['us-east-1a', 'us-east-1b'] }) },
    'vpc.availabilityZones must be 3 zones, those of the nodes of search.size',
  ],
  [{ customDomain: 'fhir.example.org' }, 'customDomain must be an object of name, certificateArn, hostedZone'],
  [customDomain({ name: 'https://fhir.example.org' }), 'customDomain.name must be a host name'],
  [
    customDomain({ certificateArn: 'arn:aws:acm:eu-central-1:111111111111:certificate/1' }),
    'customDomain.certificateArn must be the ARN of an ACM certificate in us-east-1',
  ],
  [customDomain({ hostedZone: { id: 'example.org', name: 'example.org' } }), 'customDomain.hostedZone.id must be the id of a hosted zone'],
  [customDomain({ name: 'fhir.badexample.org' }), 'customDomain.name fhir.badexample.org is not in the zone example.org'],
]

describe('Settings', () => {
  it.each(VALID.map((settings) => [settings]))('are accepted: %j', (settings) => expect(settingsOf(settings)).toMatchObject(settings))

  it.each([
    [{}, 4],
    [PRODUCTION, 40],
    [{ search: { endpoint: 'https://search.example.org' } }, 40],
    [{ exportWriters: 7 }, 7],
    [{ ...PRODUCTION, exportWriters: 7 }, 7],
  ] as const)('%j let an export have %i writers', (settings, writers) => expect(settingsOf(settings).exportWriters).toBe(writers))

  it.each<[object, object]>([
    [{}, { most: { reads: 12_000, writes: 4_000 } }],
    [{ capacity: {} }, {}],
    [{ capacity: { shards: { Basic: 2 } } }, { most: { reads: 12_000, writes: 4_000 }, shards: { Basic: 2 } }],
    [{ capacity: { most: { reads: 40_000, writes: 1 } } }, { most: { reads: 40_000, writes: 1 } }],
    [{ capacity: { warm: { reads: 12_000, writes: 4_000 } } }, { warm: { reads: 12_000, writes: 4_000 } }],
    [PRODUCTION, {}],
    [{ search: { endpoint: 'https://search.example.org' } }, {}],
  ])('%j set the capacity %j', (settings, capacity) => expect(settingsOf(settings).capacity).toEqual(capacity))

  it.each<[object, object]>([
    [{}, {}],
    [PRODUCTION, { perToken: 75_000, withoutToken: 1_000 }],
    // One token may use half of a higher rate, too.
    [
      { ...PRODUCTION, limits: { rate: 2_000 } },
      { rate: 2_000, perToken: 300_000, withoutToken: 1_000 },
    ],
    [{ search: { endpoint: 'https://search.example.org' } }, { perToken: 75_000, withoutToken: 1_000 }],
    [
      { ...PRODUCTION, limits: { perToken: 10 } },
      { perToken: 10, withoutToken: 1_000 },
    ],
    [{ ...PRODUCTION, access: 'iam' }, {}],
    [{ limits: { withoutToken: 500 } }, { withoutToken: 500 }],
    [{ service: { publicRead: 'system/Location.rs' } }, { withoutToken: 6_000 }],
    [{ service: { publicRead: 'system/Location.rs' }, limits: { withoutToken: 500 } }, { withoutToken: 500 }],
  ])('%j limit clients by %j', (settings, limits) => expect(settingsOf(settings).limits).toEqual({ ...DEFAULT_SETTINGS.limits, ...limits }))

  it.each(INVALID)('are rejected: %j', (settings, message) => expect(() => settingsOf(settings)).toThrow(message))
})

describe('The file of a stage', () => {
  const checked = (text: string, stage = 'prod') => {
    const folder = mkdtempSync(join(tmpdir(), 'fhir-settings-'))
    try {
      mkdirSync(join(folder, '.fhir'))
      writeFileSync(join(folder, '.fhir/prod.settings.json'), text)
      const script = resolve('bin/deploy-check.ts')
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', script, stage], {
        cwd: folder,
        encoding: 'utf8',
      })
      return { status, stdout, lines: stderr.trimEnd().split('\n') }
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
  const NAME = /^\.fhir\/prod\.settings\.json: /

  it.each([
    ['{ "region": "eu-central-1", }', 'JSON'],
    ['{ "regio": "eu-central-1" }', '"regio" is not a setting. Accepted: stage, region'],
    ['[]', 'the settings must be an object'],
    ['{ "stage": "dev" }', '"stage" is "dev", but the command selects "prod"'],
  ])('is rejected in one line that names it: %s', (text, message) => {
    const { status, stdout, lines } = checked(text)
    expect([status, stdout, lines]).toEqual([1, '', [expect.stringMatching(NAME)]])
    expect(lines[0]).toContain(message)
  })

  it('need not exist to reject an invalid name of the stage', () =>
    expect(checked('{}', 'Prod')).toEqual({ status: 1, stdout: '', lines: [expect.stringMatching(/^"Prod" is not a valid stage name/)] }))
})
