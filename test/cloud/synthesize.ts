/**
 * Run as a process of its own: as bin/app.ts, with code that was bundled already, which is most of the work.
 * node test/cloud/synthesize.ts OUT SETTINGS BUNDLES: BUNDLES is what bin/app.ts left in its assembly.
 */
import { readFileSync } from 'node:fs'
import { App } from 'aws-cdk-lib'
import { readBundles } from '../../lib/bundle.ts'
import { type Settings, settingsOf } from '../../lib/settings/settings.ts'
import { DataStack } from '../../lib/stacks/data-stack.ts'
import { FEATURE_FLAGS } from '../../lib/stacks/flags.ts'
import { OperationStack } from '../../lib/stacks/operation-stack.ts'
import { ServiceStack } from '../../lib/stacks/service-stack.ts'

const [outdir, file, bundles] = process.argv.slice(2) as [string, string, string]
const settings = settingsOf(JSON.parse(readFileSync(file, 'utf8')) as Partial<Settings>)
const app = new App({ outdir, context: FEATURE_FLAGS })
const data = new DataStack(app, `fhir-${settings.stage}-data`, settings)
const service = new ServiceStack(app, `fhir-${settings.stage}-service`, settings, data, readBundles(bundles))
new OperationStack(app, `fhir-${settings.stage}-operation`, settings, service)
app.synth()
