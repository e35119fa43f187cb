/** The costs in lib/docs/cost.md, computed. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { FIREWALL_RULES } from '../../lib/model/prices.ts'
import { REQUEST_WORK } from '../../lib/model/request-work.ts'
import { resourcesOfType, synthesizeStages, type Tree } from './assembly.ts'
import {
  ALARM_METRICS,
  ARCHIVE,
  ARCHIVE_ALARMS_COST,
  ARCHIVED_OBJECTS_MONTHLY_COST,
  ARCHIVING_COST,
  archivedCost,
  arrivalsMonthlyCost,
  BODY_PASS_COST,
  backupMonthlyCost,
  costOfMillionRequests,
  costsOfMonth,
  DEMO_MAX_HOURLY_COST,
  heartbeatCostOf,
  PACKAGES_MONTHLY_COST,
  PARTNERS_MONTHLY_COST,
  SHARD_MONTHLY_COST,
  STORED,
  STRONG_WRITES_COST,
  type StageUse,
  TOKENS_MONTHLY_COST,
} from './costs.ts'
import { demo, production, signed } from './stages.ts'
import { measureArchive, measureAuditRecord, measureSample } from './stored-items.ts'

const { partners } = await synthesizeStages({ partners: { service: { payer: 'http://hl7.org/fhir/sid/us-npi|1234567893' } } })
const PAGE = readFileSync('lib/docs/cost.md', 'utf8')

describe('a million requests', () => {
  it.each<[keyof typeof REQUEST_WORK, string]>([
    ['read', '5.35'],
    ['search', '8.21'],
    ['create', '6.74'],
    ['update', '8.81'],
    ['token', '8.88'],
  ])('cost the listed amount: %s, $%s', (name, dollars) => {
    expect(costOfMillionRequests(REQUEST_WORK[name]).toFixed(2)).toBe(dollars)
    expect(PAGE).toContain(`$${dollars}`)
  })
})

it('a million writes cost $13.33 more with strong consistency', () => {
  expect(STRONG_WRITES_COST.toFixed(2)).toBe('13.33')
  expect(PAGE).toContain('$13.33')
})

it('a pass over a million large bodies costs $0.66', () => {
  expect(BODY_PASS_COST.toFixed(2)).toBe('0.66')
  expect(PAGE).toContain('a million large bodies costs $0.66')
})

it('a demo at the maximum of its resource table costs up to $27.90 an hour', () => {
  expect(DEMO_MAX_HOURLY_COST.toFixed(2)).toBe('27.90')
  expect(PAGE).toContain('costs up to $27.90 an hour')
})

it('backups of a gigabyte with copies for 35 days cost $3.80 a month', () => {
  expect(backupMonthlyCost(35).toFixed(2)).toBe('3.80')
  expect(PAGE).toContain('35 days cost $3.80 a month')
})

describe('stored data', () => {
  const kB = (bytes: number, count: number): string => (bytes / count / 1_000).toFixed(2)

  it.each([
    ['Observation', ['Observation']],
    ['resource of any type', []],
  ])('takes the listed kilobytes: %s', async (name, types) => {
    const { count, json, table, index } = await measureSample(...types)
    const figures = [json, table, index, table + index].map((bytes) => kB(bytes, count))
    expect(PAGE).toContain(`| ${name} | ${figures.join(' | ')} |`)
  })

  it('takes the gigabytes by which a month is computed', async () => {
    const { json, table, index } = await measureSample()
    expect([table / json, index / json].map((each) => each.toFixed(2))).toEqual([STORED.table.toFixed(2), STORED.index.toFixed(2)])
    expect(PAGE).toContain(`${(STORED.table + STORED.index).toFixed(2)} GB in DynamoDB`)
    expect(kB(await measureAuditRecord(), 1)).toBe(STORED.audit.toFixed(2))
    expect(PAGE).toContain(`An audit record takes ${STORED.audit} kB`)
  })
})

describe('the archive of audit records', () => {
  it('has the batches and bytes by which it is computed', async () => {
    const { batch, bytes } = await measureArchive()
    expect([Math.round(batch / 100) * 100, (bytes / 1_000).toFixed(1)]).toEqual([ARCHIVE.batch, ARCHIVE.gigabytes.toFixed(1)])
    expect(PAGE).toContain(`${ARCHIVE.batch.toLocaleString('en')} records`)
  })

  it('costs the listed amounts', () => {
    const amounts = [
      ARCHIVING_COST.toFixed(3),
      archivedCost(6).toFixed(2),
      ARCHIVED_OBJECTS_MONTHLY_COST.toFixed(2),
      ARCHIVE_ALARMS_COST.toFixed(2),
    ]
    expect(amounts).toEqual(['0.002', '0.17', '0.17', '0.60'])
    const [, section = ''] = /## Archive of audit records\n([\s\S]*?)\n## /.exec(PAGE) ?? []
    for (const each of amounts) expect(section).toContain(`$${each}`)
  })
})

describe('a month', () => {
  it('costs $0.10 for an always active function that looks for packages', () => {
    expect(PACKAGES_MONTHLY_COST.toFixed(2)).toBe('0.10')
    expect(PAGE).toContain('$0.10')
  })

  it('costs $1.60 for tokens before the first is issued', () => {
    expect(TOKENS_MONTHLY_COST.toFixed(2)).toBe('1.60')
    expect(PAGE).toContain('$1.60')
  })

  it('costs $0.10 for the alarm MemberGuessing', () => {
    expect(PARTNERS_MONTHLY_COST.toFixed(2)).toBe('0.10')
    expect(PAGE).toMatch(/alarm MemberGuessing costs \$0\.10 a month/)
  })

  it('counts each metric of the alarms of the stacks', () => {
    const metricsOf = ({ Metrics = [{ MetricStat: {} }] }: Tree) => Metrics.filter(({ MetricStat }: Tree) => MetricStat !== undefined)
    const countIn = ({ operation }: typeof demo) =>
      Object.values(resourcesOfType(operation, 'AWS::CloudWatch::Alarm')).flatMap(metricsOf).length
    expect({ iam: countIn(signed), token: countIn(demo), partners: countIn(partners) }).toEqual(ALARM_METRICS)
  })

  it('counts the rules of the firewall', () => {
    const countIn = ({ service }: typeof demo) => Object.values(resourcesOfType(service, 'AWS::WAFv2::WebACL'))[0]!.Rules.length
    expect({ demo: countIn(demo), production: countIn(production) }).toEqual(FIREWALL_RULES)
  })

  it('costs the listed amounts for heartbeats', () => {
    const costs = [heartbeatCostOf(0), heartbeatCostOf(1), SHARD_MONTHLY_COST].map((each) => `$${each.toFixed(2)}`)
    expect(costs).toEqual(['$1.33', '$4.00', '$1.30'])
    for (const each of [...costs, `$${Math.round(arrivalsMonthlyCost())}`]) expect(PAGE).toContain(each)
  })

  it('costs at most $45 for an idle demo', () => {
    const costs = Object.values(costsOfMonth({ requests: 0, stored: 1, size: 'demo' }))
    expect(costs.reduce((sum, each) => sum + each)).toBeLessThanOrEqual(45)
  })

  it.each<[string, StageUse, readonly [number, number, number, number, number]]>([
    ['a demo with ten thousand requests and 1 GB', { requests: 0.01, stored: 1, size: 'demo' }, [0, 0, 29, 15, 44]],
    ['a million requests and 10 GB', { requests: 1, stored: 10, size: 'demo' }, [6, 2, 29, 18, 54]],
    ['a hundred million requests and 100 GB', { requests: 100, stored: 100, size: 'production' }, [703, 106, 466, 20, 1295]],
  ])('costs the listed amounts: %s, %j', (_, use, dollars) => {
    const { requests, data, search, fixed } = costsOfMonth(use)
    expect([requests, data, search, fixed, requests + data + search + fixed].map(Math.round)).toEqual(dollars)
    expect(PAGE).toContain(`| ${dollars.map((each) => `$${each.toLocaleString('en')}`).join(' | ')} |`)
  })
})
