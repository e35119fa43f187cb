/** Creates the stacks of some settings in this process. Only separate processes use it, because the CDK takes long to load. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { App } from 'aws-cdk-lib'
import { FUNCTIONS } from '../../lambdas/functions/functions.ts'
import type { Bundles } from '../../lib/bundle.ts'
import { type Settings, settingsOf } from '../../lib/settings/settings.ts'
import { DataStack } from '../../lib/stacks/data-stack.ts'
import { FEATURE_FLAGS } from '../../lib/stacks/flags.ts'
import { OperationStack } from '../../lib/stacks/operation-stack.ts'
import { ServiceStack } from '../../lib/stacks/service-stack.ts'

export type Stacks = { readonly app: App; readonly data: DataStack; readonly service: ServiceStack; readonly operation: OperationStack }

export function stacksOf(folder: string, input: Partial<Settings>): Stacks {
  const app = new App({ outdir: join(folder, 'cdk.out'), context: FEATURE_FLAGS })
  const settings = settingsOf(input)
  const data = new DataStack(app, 'data', settings)
  const service = new ServiceStack(app, 'service', settings, data, emptyBundles(folder))
  return { app, data, service, operation: new OperationStack(app, 'operation', settings, service) }
}

/** Returns the templates as CloudFormation gets them. */
export function templatesOf({ app }: Stacks) {
  const assembly = app.synth()
  const templateOf = (name: string) => assembly.getStackByName(name).template
  return { data: templateOf('data'), service: templateOf('service'), operation: templateOf('operation') }
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
