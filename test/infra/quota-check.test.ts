/** Quotas of an account, compared with those that a stage needs: one line each. */
import {
  GetAWSDefaultServiceQuotaCommand,
  GetServiceQuotaCommand,
  type GetServiceQuotaCommandInput,
  ServiceQuotasClient,
} from '@aws-sdk/client-service-quotas'
import { afterEach, describe, expect, it } from '@jest/globals'
import { mockClient } from 'aws-sdk-client-mock'
import { compareQuotas } from '../../lib/deploy/quota-check.ts'
import { DEFAULT_MIX, type Load } from '../../lib/model/load.ts'
import { modelOf } from '../../lib/model/model.ts'
import { QUOTAS } from '../../lib/model/quotas.ts'
import { stageQuotasOf } from '../../lib/model/stage-quotas.ts'
import { type Settings, settingsOf } from '../../lib/settings/settings.ts'

const quotas = mockClient(ServiceQuotasClient)
afterEach(() => void quotas.reset())

const failing = (name: string, message = name): Error => Object.assign(new Error(message), { name })
const linesOf = (settings: Partial<Settings> = {}) => compareQuotas(settingsOf(settings))
const lineAbout = async (what: string, settings?: Partial<Settings>) => (await linesOf(settings)).find((line) => line.includes(what))

/** An account with the default quotas of AWS, except these. */
function account(other: Partial<Record<keyof typeof QUOTAS, number | Error>> = {}): void {
  for (const [name, { service, code, value }] of Object.entries(QUOTAS)) {
    const found = other[name as keyof typeof QUOTAS] ?? value
    const mocked = quotas.on(GetServiceQuotaCommand, { ServiceCode: service, QuotaCode: code })
    if (typeof found === 'number') mocked.resolves({ Quota: { Value: found } })
    else mocked.rejects(found)
  }
}

describe('The comparison of quotas', () => {
  it('has a line for each quota, with the wanted and the actual value', async () => {
    account()
    expect(await linesOf()).toEqual([
      'Quotas: write units of the resource table, warm: the stage needs 4,000, the account has 40,000',
      'Quotas: read units of the resource table, warm: the stage needs 12,000, the account has 40,000',
      'Quotas: write units of its index, warm: the stage needs 4,000, the account has 40,000',
      'Quotas: write units of the state table, warm: the stage needs 4,000, the account has 40,000',
      'Quotas: requests per second at API Gateway: the stage needs 500, the account has 10,000',
      'Quotas: concurrent executions of Lambda: the stage needs 19, the account has 1,000',
      'Quotas: signatures per second of KMS: the stage needs 15, the account has 1,000',
      'Quotas: nodes of an OpenSearch domain: the stage needs 1, the account has 80',
      'Quotas: read units of the resource table during an export: the stage needs 20,400, the account has 40,000',
    ])
  })

  it('names the command that requests more, in the region of the stage', async () => {
    account({ concurrency: 10 })
    expect(await lineAbout('Lambda', { region: 'eu-central-1' })).toBe(
      'Quotas: concurrent executions of Lambda: the stage needs 19, but the account has 10. Request more: aws service-quotas request-service-quota-increase --region eu-central-1 --service-code lambda --quota-code L-B99A9384 --desired-value 19',
    )
    account({ concurrency: 19 })
    expect(await lineAbout('Lambda')).toBe('Quotas: concurrent executions of Lambda: the stage needs 19, the account has 19')
  })

  it('uses the default of AWS if the account has no value of its own', async () => {
    account({ requests: failing('NoSuchResourceException') })
    quotas.on(GetAWSDefaultServiceQuotaCommand).resolves({ Quota: { Value: 2_500 } })
    expect(await lineAbout('API Gateway')).toMatch(/the account has 2,500$/)
    expect(quotas.commandCalls(GetAWSDefaultServiceQuotaCommand).map(({ args: [{ input }] }) => input)).toEqual([
      { ServiceCode: 'apigateway', QuotaCode: 'L-8A5B8E43' },
    ])
  })

  it.each<[string, () => void]>([
    ['may not be read', () => account({ signatures: failing('AccessDeniedException', 'not allowed') })],
    [
      'has a default that may not be read',
      () => {
        account({ signatures: failing('NoSuchResourceException') })
        quotas.on(GetAWSDefaultServiceQuotaCommand).rejects(failing('AccessDeniedException', 'not allowed'))
      },
    ],
  ])('reports that a quota is unknown if it %s, and compares the others', async (_, prepare) => {
    prepare()
    const lines = await linesOf()
    expect(lines.filter((line) => line.includes('unknown'))).toEqual([
      'Quotas: signatures per second of KMS: the stage needs 15, the quota of the account is unknown (AccessDeniedException: not allowed). Look it up: Service Quotas, kms, L-2AC98190',
    ])
    expect(lines.filter((line) => /the account has [\d,]+$/.test(line))).toHaveLength(8)
  })

  it('reports that a quota without a value is unknown', async () => {
    account()
    quotas.on(GetServiceQuotaCommand, { QuotaCode: QUOTAS.nodes.code }).resolves({ Quota: {} })
    expect(await lineAbout('OpenSearch')).toContain('the quota of the account is unknown (Error: no value)')
  })

  it('reads each quota once', async () => {
    account()
    await linesOf()
    const codes = quotas
      .commandCalls(GetServiceQuotaCommand)
      .map(({ args: [{ input }] }) => (input as GetServiceQuotaCommandInput).QuotaCode)
    expect(codes.toSorted()).toEqual(
      Object.values(QUOTAS)
        .map(({ code }) => code)
        .toSorted(),
    )
  })
})

describe('The quotas that a stage needs', () => {
  const wantedOf = (settings: Partial<Settings>) =>
    Object.fromEntries(stageQuotasOf(settingsOf(settings)).map(({ what, used }) => [what, used]))

  it('cover a load for which the model proposes the settings, and are at most half as much again', () => {
    const load: Load = { resources: 1e8, writes: 10_000, reads: 5_000, searches: 500, mix: DEFAULT_MIX }
    const { settings, limits } = modelOf(load)
    const wanted = wantedOf(settings as Partial<Settings>)
    const modelled = limits.filter(({ isRaised }) => isRaised)
    expect(modelled.map(({ what }) => what)).toEqual(Object.keys(wanted))
    for (const { what, used } of modelled) {
      // The search domain of the stage has three nodes, however many the model counts.
      if (what.startsWith('nodes')) continue
      expect([what, wanted[what]! >= used * 0.8, wanted[what]! <= used * 1.5]).toEqual([what, true, true])
    }
  })

  it('count the reserved concurrency of a function in place of its need', () => {
    const of = (concurrency: Settings['concurrency']) => wantedOf({ concurrency })['concurrent executions of Lambda']
    expect([of({}), of({ 'export-step': 10 }), of({ 'export-step': 10, token: 5 })]).toEqual([19, 25, 30])
  })

  it('count the reads of an export, which grow with its writers', () => {
    const of = (exportWriters: number) => wantedOf({ exportWriters })['read units of the resource table during an export']!
    expect(of(40) - of(4)).toBe(36 * 2_000 * 1.05)
  })

  it('have no signatures of tokens if requests are signed, and no nodes of a cluster outside the stage', () => {
    expect(wantedOf({ access: 'iam' })['signatures per second of KMS']).toBe(10)
    expect(wantedOf({ search: { endpoint: 'https://search.example.org' } })['nodes of an OpenSearch domain']).toBeUndefined()
  })
})
