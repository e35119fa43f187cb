/** Daily backups of the data, and their copies in another account. */
import { describe, expect, it } from '@jest/globals'
import { anyOfType, resourcesOfType, synthesizeStages, type Tree } from './assembly.ts'
import { demo, production, STAGES } from './stages.ts'

const { backup } = STAGES.production
const { restored } = await synthesizeStages({
  restored: { backup, restored: { resources: 'restored-1', former: 'made', epoch: 1, instant: '2031-01-01T03:00:00Z' } },
})

const only = (template: Tree, type: string): Tree => Object.values(resourcesOfType(template, type))[0]!
const idsOf = (template: Tree, type: string, start = ''): string[] =>
  Object.keys(resourcesOfType(template, type)).filter((id) => id.startsWith(start))
/** Returns the resource of the data stack to which a value of the operation stack refers. */
const sourceOf = (value: Tree, { Outputs }: Tree): Tree => Outputs[value['Fn::GetStackOutput'].OutputName].Value['Fn::GetAtt']
const selectedBy = (template: Tree): Tree[] => only(template, 'AWS::Backup::BackupSelection').BackupSelection.Resources
const sharedWith = (template: Tree): Tree[] =>
  only(template, 'AWS::KMS::Key').KeyPolicy.Statement.filter(({ Principal }: Tree) => JSON.stringify(Principal).includes('222222222222'))

describe('Backups', () => {
  it('are made daily, and copied into the vault of the other account for the configured days', () => {
    const { BackupPlan } = only(production.operation, 'AWS::Backup::BackupPlan')
    expect(BackupPlan.BackupPlanRule).toEqual([
      {
        RuleName: 'Daily',
        ScheduleExpression: 'cron(0 3 * * ? *)',
        TargetBackupVault: { 'Fn::GetAtt': [idsOf(production.operation, 'AWS::Backup::BackupVault')[0], 'BackupVaultName'] },
        Lifecycle: { DeleteAfterDays: 3 },
        CopyActions: [{ DestinationBackupVaultArn: backup.vault, Lifecycle: { DeleteAfterDays: 35 } }],
      },
    ])
  })

  it('contain both tables and the bucket for data', () =>
    expect(selectedBy(production.operation).map((each) => sourceOf(each, production.data))).toEqual([
      [idsOf(production.data, 'AWS::DynamoDB::GlobalTable', 'ResourceTable')[0], 'Arn'],
      [idsOf(production.data, 'AWS::DynamoDB::GlobalTable', 'StateTable')[0], 'Arn'],
      [idsOf(production.data, 'AWS::S3::Bucket', 'DataBucket')[0], 'Arn'],
    ]))

  it('contain a restored table in place of the previous one', () => {
    const [resources, state] = selectedBy(restored.operation)
    expect(JSON.stringify(resources)).toMatch(/:dynamodb:.*:table\/restored-1"/)
    expect(sourceOf(state!, restored.data)[0]).toMatch(/^StateTable/)
  })

  it('are encrypted with the key of the stage, and stay when the stage is removed', () => {
    const [vault] = Object.values<Tree>(production.operation.Resources).filter(({ Type }) => Type === 'AWS::Backup::BackupVault')
    expect(sourceOf(vault!.Properties.EncryptionKeyArn, production.data)).toEqual([idsOf(production.data, 'AWS::KMS::Key')[0], 'Arn'])
    expect([vault!.DeletionPolicy, vault!.UpdateReplacePolicy]).toEqual(['RetainExceptOnCreate', 'Retain'])
  })

  it('are made by a role that only AWS Backup assumes', () => {
    const [id] = idsOf(production.operation, 'AWS::IAM::Role', 'Backups')
    const { AssumeRolePolicyDocument, ManagedPolicyArns } = production.operation.Resources[id!].Properties
    expect(only(production.operation, 'AWS::Backup::BackupSelection').BackupSelection.IamRoleArn).toEqual({ 'Fn::GetAtt': [id, 'Arn'] })
    expect(AssumeRolePolicyDocument.Statement.map(({ Principal }: Tree) => Principal)).toEqual([{ Service: 'backup.amazonaws.com' }])
    expect(ManagedPolicyArns.map((arn: Tree) => /:aws:policy\/([\w/-]+)/.exec(JSON.stringify(arn))?.[1])).toEqual([
      'service-role/AWSBackupServiceRolePolicyForBackup',
      'AWSBackupServiceRolePolicyForS3Backup',
    ])
  })

  it('are readable with the key by AWS Backup of the other account, and by nothing else there', () => {
    const statements = sharedWith(production.data)
    expect(statements.map(({ Action }) => Action)).toEqual([
      [
        'kms:Decrypt',
        'kms:DescribeKey',
        'kms:Encrypt',
        'kms:GenerateDataKey',
        'kms:ReEncryptFrom',
        'kms:ReEncryptTo',
        'kms:GenerateDataKeyWithoutPlaintext',
      ],
      ['kms:CreateGrant', 'kms:ListGrants', 'kms:RevokeGrant'],
    ])
    for (const { Condition } of statements)
      expect(JSON.stringify(Condition.ArnLike['aws:PrincipalArn'])).toMatch(
        /:iam::222222222222:role\/aws-service-role\/backup.amazonaws.com\/\*"/,
      )
    expect(statements[1]!.Condition.Bool).toEqual({ 'kms:GrantIsForAWSResource': 'true' })
  })

  it('are absent by default', () => {
    expect(Object.keys(anyOfType(demo.operation, 'AWS::Backup::BackupPlan'))).toEqual([])
    expect(sharedWith(demo.data)).toEqual([])
  })
})
