package registry

import "context"

// Replacer returns what replaces a secret of the connector file at a path.
func Replacer(ctx context.Context, r *Registry, path, name string) (func(context.Context, func(string) (string, error)) error, error) {
	spec, err := readSpec(path)
	if err != nil {
		return nil, err
	}
	all, err := r.accounts(ctx, spec)
	if err != nil {
		return nil, err
	}
	return all[0].values[name].Replace, nil
}
