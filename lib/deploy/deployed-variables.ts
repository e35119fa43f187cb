/** Reads the settings of a deployed stage from the template of its service stack. */
import { type CloudFormationClient, GetTemplateCommand } from '@aws-sdk/client-cloudformation'
import { ignoreErrorsNamed } from './error-names.ts'
import type { StackTemplate } from './replacement-check.ts'

type Resources = readonly StackTemplate['Resources'][string][]

/** Returns the resources of a deployed stack, or none if the stack does not exist. */
export async function readDeployedResources(client: CloudFormationClient, StackName: string): Promise<Resources> {
  const found = await client
    .send(new GetTemplateCommand({ StackName, TemplateStage: 'Processed' }))
    .catch(ignoreErrorsNamed('ValidationError'))
  return Object.values((JSON.parse(found?.TemplateBody ?? '{"Resources":{}}') as StackTemplate).Resources)
}

/** Returns the environment of each function. */
export const functionEnvironmentsOf = (resources: Resources): readonly Readonly<Record<string, unknown>>[] =>
  resources.flatMap(({ Properties }) => {
    const { Environment } = (Properties ?? {}) as { readonly Environment?: { readonly Variables?: Readonly<Record<string, unknown>> } }
    return Environment?.Variables === undefined ? [] : [Environment.Variables]
  })
