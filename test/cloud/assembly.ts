/** The cloud assembly for one machine, as `cdk synth` makes it: the whole template, with an OpenSearch that is there already. It asks for tokens. */
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ARNS } from '../infra/iam.ts'

export type AssemblyOptions = {
  /** Gets the assembly, and a file of settings. */
  readonly folder: string
  readonly settings: object
}

/** Where OpenSearch would be a domain of AWS, for the permissions a function needs there; nothing is sent to it. */
export const DOMAIN_ARN = ARNS.SearchDomain

/** A schedule whose exports are copied into a bucket that no stack makes. Its rule does not call before a test is over. */
export const INTO_LAKE = { name: 'into-lake', client: 'tests', types: ['Patient'], sinceLast: true, bucket: 'lake' }

export const localSettings = ({ baseUrl, searchEndpoint }: { readonly baseUrl: string; readonly searchEndpoint: string }) => ({
  access: 'token',
  // That of the stand-in.
  account: '000000000000',
  baseUrl,
  search: { endpoint: searchEndpoint, domainArn: DOMAIN_ARN },
  exports: [{ ...INTO_LAKE, schedule: 'rate(7 days)' }],
  // Nobody works with older definitions for long here.
  rebuildWait: 1,
})

/** Variables of functions that let everybody in. */
export const OPEN = { FHIR_ACCESS: 'open' }

export async function synthesize({ folder, settings }: AssemblyOptions): Promise<string> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'settings.json')
  writeFileSync(file, JSON.stringify(settings))
  const assembly = join(folder, 'cdk.out')
  const child = spawn(process.execPath, ['bin/app.ts'], {
    env: { ...process.env, CDK_OUTDIR: assembly, CDK_CONTEXT_JSON: JSON.stringify({ stage: 'local', settings: file }) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (data) => {
    said = `${said}${data}`.slice(-5_000)
  })
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`the stacks could not be synthesized:\n${said}`)
  return assembly
}
