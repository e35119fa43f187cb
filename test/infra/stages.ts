/** The stacks that several test files examine. The synthesizer makes each of them once per run. */
import { functionsOfStage } from '../../lambdas/functions/functions.ts'
import type { Settings } from '../../lib/settings/settings.ts'
import { functionsOf, type SynthesizedStacks, synthesizeStages } from './assembly.ts'

export const DOMAIN = {
  name: 'fhir.example.org',
  certificateArn: 'arn:aws:acm:us-east-1:111111111111:certificate/1',
  hostedZone: { id: 'Z1', name: 'example.org' },
}
export const STAGES = {
  demo: {},
  signed: { access: 'iam' },
  production: {
    stage: 'prod',
    account: '111111111111',
    region: 'eu-central-1',
    search: { kind: 'domain', size: 'production' },
    customDomain: DOMAIN,
    vpc: { cidr: '10.0.0.0/16', availabilityZones: ['eu-central-1a', 'eu-central-1b', 'eu-central-1c'] },
    capacity: { warm: { reads: 20_000, writes: 8_000, state: { reads: 12_000, writes: 25_000 } }, most: { reads: 40_000, writes: 20_000 } },
    service: { versioning: 'off', allowedOrigins: 'https://app.example.org' },
    concurrency: { indexer: 20 },
    alarmEmail: 'ops@example.org',
    backup: { vault: 'arn:aws:backup:eu-central-1:222222222222:backup-vault:fhir', days: 35 },
  },
  local: { access: 'open', baseUrl: 'http://127.0.0.1:8080/fhir', search: { endpoint: 'http://127.0.0.1:9200' }, rebuildWait: 1 },
  // A domain outside the stacks.
  elsewhere: {
    search: {
      ...{ endpoint: 'https://search.example.org', domainArn: 'arn:aws:es:us-east-1:111111111111:domain/own' },
      ...{ shards: { Observation: 12, Claim: 2 }, replicas: 2 },
    },
  },
  tokens: { access: 'token', account: '111111111111', originSecret: 2, service: { tenancy: 'on' } },
} satisfies Readonly<Record<string, Partial<Settings>>>
export const { demo, signed, production, local, elsewhere, tokens } = await synthesizeStages(STAGES)
export const stageEntries = Object.entries({ demo, signed, production, local, elsewhere, tokens }) as readonly (readonly [
  keyof typeof STAGES,
  SynthesizedStacks,
])[]
/** Functions of a stage with signatures. */
export const functionNames = functionsOfStage('iam')
export const accessOf = (stacks: SynthesizedStacks): string => functionsOf(stacks.service).read!.Environment.Variables.FHIR_ACCESS
