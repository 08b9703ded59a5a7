// Is core complete without either world? Every room of it is linked whole into this, with the libraries it may use and no other.
int main() { return 0; }
