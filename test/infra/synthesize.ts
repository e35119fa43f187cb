/** Run as a process of its own: synthesizes the stacks for the settings named, checks them with cdk-nag, and prints what came of it. See assembly.ts. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App } from 'aws-cdk-lib'
import { AwsSolutionsChecks, HIPAASecurityChecks } from 'cdk-nag'
import { FUNCTIONS } from '../../lambdas/functions/functions.ts'
import type { Bundles } from '../../lib/bundle.ts'
import { DataStack } from '../../lib/data-stack.ts'
import { FLAGS } from '../../lib/flags.ts'
import { ServiceStack } from '../../lib/service-stack.ts'
import { type Settings, settingsOf } from '../../lib/settings.ts'

const wanted = JSON.parse(process.argv[2]!) as Readonly<Record<string, Partial<Settings>>>
const outdir = mkdtempSync(join(tmpdir(), 'fhir-infra-'))
try {
  const made = Object.entries(wanted).map(([name, settings]) => [name, synthesized(join(outdir, name), settings)])
  process.stdout.write(JSON.stringify(Object.fromEntries(made)))
} finally {
  rmSync(outdir, { recursive: true })
}

function synthesized(folder: string, given: Partial<Settings>) {
  const app = new App({ outdir: join(folder, 'cdk.out'), context: FLAGS })
  const settings = settingsOf(given)
  const data = new DataStack(app, 'data', settings)
  const service = new ServiceStack(app, 'service', settings, data, emptyBundles(folder))
  const findings = [new AwsSolutionsChecks(app), new HIPAASecurityChecks(app)].flatMap((pack) =>
    [data, service].flatMap((stack) =>
      pack
        .validateScope(stack)
        .violations.flatMap(({ ruleName, violatingResources }) =>
          violatingResources.map(({ constructPath, resourceLogicalId }) => `${ruleName} ${constructPath ?? resourceLogicalId}`),
        ),
    ),
  )
  const assembly = app.synth()
  const templateOf = (name: string) => assembly.getStackByName(name).template
  return { data: templateOf('data'), service: templateOf('service'), findings: [...new Set(findings)] }
}

/** The code does not matter to the templates. */
function emptyBundles(folder: string): Bundles {
  const bundles = Object.keys(FUNCTIONS).map((name) => {
    const code = join(folder, name)
    mkdirSync(code, { recursive: true })
    writeFileSync(join(code, `${name}.js`), '')
    return [name, { folder: code, hash: `hash of ${name}` }]
  })
  return Object.fromEntries(bundles) as Bundles
}
