// What was done, in the reader's language: of "post_v1_queues_name_pause", pause.
import { isTextKey, type Translate } from '../../i18n';

const byMethod: Record<string, string> = { post: 'create', put: 'change', patch: 'change', delete: 'delete' };
// Those whose last word says something else, or nothing.
const words: Record<string, string> = {
    bulk: 'create',
    'delete silence': 'unsilence',
    strategy: 'change',
    status: 'change',
};

// Nothing for an action that this console does not know, because the server is newer.
export function actionText(action: string, t: Translate): string | undefined {
    const [, method = '', rest = ''] = /^(post|put|patch|delete)_v1_(.+)$/.exec(action) ?? [];
    const parts = rest.split('_').filter((part) => part !== 'id' && part !== 'name');
    const last = parts.length > 1 ? (parts.at(-1) ?? '') : '';
    const verb = words[`${method} ${last}`] ?? words[last] ?? (last || byMethod[method]);
    const key = `auditVerb.${verb}`;
    return isTextKey(key) ? t(key) : undefined;
}

export function kindText(kind: string, t: Translate): string {
    const key = `auditKind.${kind}`;
    return isTextKey(key) ? t(key) : kind;
}
