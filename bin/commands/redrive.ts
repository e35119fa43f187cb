/** `fhir redrive`: sends records again that a stage's functions could not process, after the cause is fixed. */
import { Command } from 'commander'
import { print, toOneLine, warn } from '../output.ts'
import { readStageDeployment, requireOutput } from './administration.ts'
import { withExamples } from './options.ts'

const command = new Command('redrive')
  .description('send failed records, which are stored in the bucket of a stage on AWS, to their function again; exit code 1 if some remain')
  .requiredOption('--stage <name>', 'the stage, as it was deployed')
  .action(async ({ stage }: { readonly stage: string }) => {
    const [{ LambdaClient }, { S3Client }, { redriveFailedRecords: redrive }] = await Promise.all([
      import('@aws-sdk/client-lambda'),
      import('@aws-sdk/client-s3'),
      import('../../lib/deploy/redrive.ts'),
    ])
    const { region, bucket } = await readStageDeployment(stage)
    const parts = { s3: new S3Client({ region }), lambda: new LambdaClient({ region }) }
    const { processed, remaining } = await redrive({ ...parts, bucket: requireOutput(stage, 'the bucket', bucket) })
    for (const { key, reason } of remaining) warn(toOneLine(`${key} stays: ${reason}`))
    print(`${processed} taken, ${remaining.length} left\n`)
    if (remaining.length > 0) process.exitCode = 1
  })

export const redriveCommand = withExamples(command, ['npm run -s fhir -- redrive --stage dev'])
