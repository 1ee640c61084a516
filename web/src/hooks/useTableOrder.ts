// Sort order and page of a table, kept in the page's address: who comes back, or gets the link, sees the same.
import type { TableProps } from 'antd';
import { useSearchParams } from 'react-router-dom';

export const rowsPerPage = 50;

type Order = 'ascend' | 'descend' | undefined;

export interface TableOrder {
    orderOf: (key: string) => Order;
    page: number;
    // For the table's onChange.
    onChange: NonNullable<TableProps<never>['onChange']>;
}

export function useTableOrder(standard: string): TableOrder {
    const [query, setQuery] = useSearchParams();
    const sort = query.get('sort') ?? standard;
    const key = sort.replace(/^-/, '');
    const page = Math.max(1, Math.trunc(Number(query.get('page'))) || 1);
    return {
        orderOf: (name) => (name !== key ? undefined : sort.startsWith('-') ? 'descend' : 'ascend'),
        page,
        onChange: (pagination, _, sorter) => {
            const next = new URLSearchParams(query);
            const by = Array.isArray(sorter) ? sorter[0] : sorter;
            const name = by?.order && by.columnKey ? String(by.columnKey) : '';
            const sorted = name && (by?.order === 'descend' ? `-${name}` : name);
            if (sorted && sorted !== standard) next.set('sort', sorted);
            else next.delete('sort');
            // In another order the page before is another one.
            const same = (sorted || standard) === sort;
            const turned = same && pagination.current && pagination.current > 1 ? pagination.current : 0;
            if (turned) next.set('page', String(turned));
            else next.delete('page');
            setQuery(next, { replace: true });
        },
    };
}
