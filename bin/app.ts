/**
 * The two stacks of a stage. `-c stage=NAME`; its settings (lib/settings/settings.ts, where they differ from the defaults) are in the file named by
 * `-c settings=FILE`, else in .fhir/NAME.settings.json, if that is there.
 */
import { join } from 'node:path'
import { App } from 'aws-cdk-lib'
import { bundle } from '../lib/bundle.ts'
import { DEFAULT_SETTINGS } from '../lib/settings/settings.ts'
import { DataStack } from '../lib/stacks/data-stack.ts'
import { FEATURE_FLAGS } from '../lib/stacks/flags.ts'
import { ServiceStack } from '../lib/stacks/service-stack.ts'
import { settingsOfStage } from './stage-settings.ts'

const app = new App({ context: FEATURE_FLAGS })
const stage: string = app.node.tryGetContext('stage') ?? DEFAULT_SETTINGS.stage
const settings = settingsOfStage(stage, app.node.tryGetContext('settings'))

const data = new DataStack(app, `fhir-${settings.stage}-data`, settings)
const bundles = await bundle(join(app.outdir, 'bundles'), {
  additional: settings.exportAdditionalResources,
})
new ServiceStack(app, `fhir-${settings.stage}-service`, settings, data, bundles)
app.synth()
