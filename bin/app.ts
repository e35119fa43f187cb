/**
 * The CDK app: the three stacks of a stage, selected by `-c stage=NAME`. Settings that differ from the defaults (lib/settings/settings.ts)
 * come from `-c settings=FILE`. Without it they come from .fhir/NAME.settings.json, if that file exists.
 */
import { join } from 'node:path'
import { App } from 'aws-cdk-lib'
import { bundle } from '../lib/bundle.ts'
import { DEFAULT_SETTINGS } from '../lib/settings/settings.ts'
import { DataStack } from '../lib/stacks/data-stack.ts'
import { FEATURE_FLAGS } from '../lib/stacks/flags.ts'
import { OperationStack } from '../lib/stacks/operation-stack.ts'
import { ServiceStack } from '../lib/stacks/service-stack.ts'
import { settingsOfStage } from './stage-settings.ts'

const app = new App({ context: FEATURE_FLAGS })
const stage: string = app.node.tryGetContext('stage') ?? DEFAULT_SETTINGS.stage
const settings = settingsOfStage(stage, app.node.tryGetContext('settings'))

const data = new DataStack(app, `fhir-${settings.stage}-data`, settings)
const bundles = await bundle(join(app.outdir, 'bundles'), {
  additional: settings.exportAdditionalResources,
})
const service = new ServiceStack(app, `fhir-${settings.stage}-service`, settings, data, bundles)
new OperationStack(app, `fhir-${settings.stage}-operation`, settings, service)
app.synth()
