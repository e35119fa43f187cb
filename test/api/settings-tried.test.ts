/**
 * Each setting of the server, by its table: every value of those that have few, the bound of numbers, and what lists and texts let through,
 * asked over HTTP; and what a wrong value says when the server is started. A setting without its trials does not compile.
 */
import { describe, expect, it } from '@jest/globals'
import { readConfig, SETTINGS, type SettingKind, variableOf } from '../../lambdas/runtime/config.ts'
import { runFhirWithEnvironment } from '../bin/process.ts'
import { isFullRun } from '../fixtures/long-runs.ts'
import * as access from './settings-tried/access.ts'
import * as payer from './settings-tried/payer.ts'
import * as publicRead from './settings-tried/public-read.ts'
import * as requests from './settings-tried/requests.ts'
import * as keeping from './settings-tried/retention.ts'
import type { SettingTrial } from './settings-tried/setting-server.ts'

type Name = (typeof SETTINGS)[number]['name']

/** `wrong`: values that are none, and what the start says of them after the name of the variable. */
type Tried = { readonly trials: readonly SettingTrial[]; readonly wrong: Readonly<Record<string, string>> }

const none = (value: string, expected: string): string => ` is "${value}", but must be ${expected}`
const wrong = (expected: string, ...values: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(values.map((value) => [value, none(value, expected)]))
const COUNT = wrong('a whole number from 1 on', '0', '-1', '1.5', 'many', '')
const SWITCH = wrong('on or off', 'yes', 'ON', '1', '')
const DAYS = wrong('a whole number from 1 to 36500', '0', '-1', '36501', 'forever')
const HOSTS = 'names of hosts, and networks such as 10.1.0.0/16, separated by commas'
const ORIGINS = '* or origins as browsers send them, such as https://app.example.org'
const CLAIM = 'the name of a claim that says nothing else: up to 100 letters, digits and . _ : / -'

// biome-ignore format: a table
const TRIED: Readonly<Record<Name, Tried>> = {
  clientIds: { trials: requests.clientIdsTrials, wrong: wrong('one of required, optional', 'maybe', 'Optional', '') },
  conditionalUpdateIdMismatch: { trials: requests.mismatchTrials, wrong: wrong('one of accept, reject', 'ignore') },
  noOpUpdates: { trials: requests.noOpTrials, wrong: wrong('one of version, ignore', 'none') },
  consistency: { trials: requests.consistencyTrials, wrong: wrong('one of eventual, strong', 'weak', '') },
  validateProfiles: { trials: requests.profilesTrials, wrong: wrong('one of off, warn, enforce', 'on') },
  writes: { trials: requests.writesTrials, wrong: wrong('one of on, stopped', 'off') },
  packageRegistry: { trials: requests.registryTrials, wrong: wrong('an https URL without a user, a query and a fragment; http on this machine only', 'http://packages.example', 'https://u:p@h', 'x') },
  versioning: { trials: requests.versioningTrials, wrong: SWITCH },
  referentialIntegrity: { trials: requests.integrityTrials, wrong: SWITCH },
  timeZone: { trials: requests.zoneTrials, wrong: wrong('the name of a time zone, such as Europe/Berlin', 'Mars/Base', '') },
  access: { trials: access.accessTrials, wrong: wrong('one of token, iam, open', 'nobody') },
  tenancy: { trials: access.tenancyTrials, wrong: SWITCH },
  tenantClaim: { trials: access.claimTrials, wrong: wrong(CLAIM, 'scope', 'a b', '') },
  sharedTenant: { trials: access.sharedTenantTrials, wrong: { '*': ' is "*", but must be the name of one tenant', 'a b': ' is "a b", but must be the name of one tenant', commons: ' requires FHIR_TENANCY "on"' } },
  externalIssuers: { trials: access.issuersTrials, wrong: { '{}': ': it must be a JSON list of issuers', x: ': it is no JSON: ' } },
  privateHosts: { trials: access.hostsTrials, wrong: wrong(HOSTS, 'https://h', '10.1.0.0/33', 'a b') },
  pkce: { trials: access.pkceTrials, wrong: wrong('one of off, accept, require', 'on') },
  organizationName: { trials: access.organizationTrials, wrong: wrong('at most 100 characters, without line breaks', 'x'.repeat(101), 'Two\nlines') },
  patientScopesWithoutContext: { trials: access.contextTrials, wrong: wrong('one of all, none', 'some') },
  maxTransactionEntries: { trials: requests.entriesTrials, wrong: COUNT },
  maxBodyBytes: { trials: requests.bodyTrials, wrong: wrong('a whole number from 1 to 100000000', '0', '1.5', '100000001', '') },
  maxRequests: { trials: requests.requestsTrials, wrong: COUNT },
  addressHeader: { trials: access.addressTrials, wrong: wrong('the name of a header, such as X-Forwarded-For', 'X Forwarded For', 'X-Forwarded-For:') },
  allowedOrigins: { trials: access.originsTrials, wrong: wrong(ORIGINS, 'app.example.org', 'https://app.example.org/') },
  auditRetentionDays: { trials: keeping.retentionTrials, wrong: DAYS },
  auditDurability: { trials: keeping.durabilityTrials, wrong: wrong('one of batched, strict', 'none') },
  exportNeedsAssertion: { trials: keeping.assertionTrials, wrong: SWITCH },
  userExports: { trials: keeping.userExportTrials, wrong: SWITCH },
  maxRunningExports: { trials: keeping.runningTrials, wrong: COUNT },
  exportRetentionDays: { trials: keeping.jobRetentionTrials, wrong: DAYS },
  groupExportTypes: { trials: keeping.typesTrials, wrong: wrong('resource types of R4, separated by commas', 'Nobody', 'Patient,', '') },
  exportAdditionalResources: { trials: keeping.additionalTrials, wrong: { '{': ' is no JSON', '/nowhere.json': ': /nowhere.json cannot be read (ENOENT)', '{"Nobody":[]}': '.Nobody is no resource type of R4' } },
  payer: { trials: payer.payerTrials, wrong: wrong('identifiers as SYSTEM|VALUE, separated by commas, such as http://hl7.org/fhir/sid/us-npi|1234567893', '1234567893', 'npi|1', 'urn:a|1,') },
  sensitiveLabels: { trials: payer.labelTrials, wrong: wrong('unknown, none, or labels as SYSTEM|CODE, separated by commas', 'some', 'urn:a|1,', '') },
  payerWindowYears: { trials: payer.payerWindowTrials, wrong: COUNT },
  providerSince: { trials: payer.providerWindowTrials, wrong: wrong('a day, such as 2016-01-01', '2016', '2016-02-30', '2016-01-01T00:00:00Z', '') },
  maxMatchMembers: { trials: payer.memberTrials, wrong: COUNT },
  payerGroupDays: { trials: payer.payerDaysTrials, wrong: DAYS },
  providerGroupDays: { trials: payer.providerDaysTrials, wrong: DAYS },
  treatment: { trials: payer.treatmentTrials, wrong: wrong('one of attested, listed', 'none') },
  reportOptOut: { trials: payer.optOutTrials, wrong: SWITCH },
  publicRead: { trials: publicRead.publicReadTrials, wrong: { 'system/Patient.rs': ': "system/Patient.rs" would open Patient, which may contain personal data', 'user/Location.rs': ': "user/Location.rs" is not a scope for public read. Use system/TYPE.r, system/TYPE.s or system/TYPE.rs', 'system/Location.read': ': "system/Location.read" is not a scope for public read', 'system/Location.cruds': ': "system/Location.cruds" is not a scope for public read', 'system/*.rs': ': "system/*.rs" would open *', 'system/Basic.r': ': "system/Basic.r" would open Basic', everything: ': "everything" is not a scope for public read' } },
  publicReadTenant: { trials: publicRead.publicTenantTrials, wrong: { '*': ' is "*", but must be the name of one tenant', 'a b': ' is "a b", but must be the name of one tenant' } },
  publicReadRate: { trials: publicRead.publicRateTrials, wrong: COUNT },
  publicReadBurst: { trials: publicRead.publicBurstTrials, wrong: COUNT },
  publicReadTotal: { trials: publicRead.publicTotalTrials, wrong: COUNT },
  disclosureYears: { trials: payer.disclosureTrials, wrong: COUNT },
  requestLog: { trials: requests.requestLogTrials, wrong: SWITCH },
  metricsPort: { trials: requests.metricsTrials, wrong: wrong('a port from 1 to 65535, or 0 for none', '-1', '65536', 'on', '') },
  searchBudget: { trials: requests.budgetTrials, wrong: wrong('a whole number from 1 to 3600000', '0', '3600001', '1e3') },
}

const settings = SETTINGS.map(({ name, kind }) => ({ name, kind: kind as SettingKind, variable: variableOf(name), ...TRIED[name] }))

/** Settings that the start checks, because that needs more than the text of the setting. */
const AT_START: ReadonlySet<string> = new Set([
  ...['FHIR_EXPORT_ADDITIONAL_RESOURCES', 'FHIR_PUBLIC_READ', 'FHIR_PUBLIC_READ_TENANT'],
  'FHIR_SHARED_TENANT',
])

/** The first of each kind, and those that are looked at when what they are about is opened. */
const STARTED = new Set([
  ...Map.groupBy(settings, ({ kind }) => (typeof kind === 'object' ? 'choice' : kind))
    .values()
    .map(([first]) => first!.variable),
  ...AT_START,
])
if (!isFullRun)
  process.stderr.write(
    'One wrong value of each kind of setting is tried by starting the server: npm run test:full tries one of each setting\n',
  )

describe.each(settings)('$variable', ({ kind, variable, trials, wrong }) => {
  it('has a trial for every value, for two values, or for its bound', () => {
    const tried = trials.map(([value]) => value)
    if (kind === 'switch') expect(tried.toSorted()).toEqual(['off', 'on'])
    else if (typeof kind === 'object') expect(tried.toSorted()).toEqual(kind.toSorted())
    else expect(tried.length).toBeGreaterThan(kind === 'count' || kind === 'registry' ? 0 : 1)
  })

  it.each(trials)('=%s: %s', (value, _, proof) => proof(value))

  // Every start says it; one for each kind of setting is enough where there is no time.
  if (isFullRun || STARTED.has(variable))
    it('ends the start with one line of error for a wrong value', async () => {
      const [[value, told] = ['', '']] = Object.entries(wrong)
      const { code, out, err } = await runFhirWithEnvironment({ ...process.env, [variable]: value }, 'start', '--memory', '--port', '1')
      expect([code, out, err.startsWith(`fhir: ${variable}${told}`), err.trim().split('\n').length]).toEqual([1, '', true, 1])
    })

  if (!AT_START.has(variable))
    it.each(Object.entries(wrong))('rejects =%s and names the variable', (value, told) =>
      expect(() => readConfig({ [variable]: value })).toThrow(`${variable}${told}`),
    )
})
